//! The declarations that hide an element, and those that hide its text alone.

use super::{
    super::colour::{canonical_colour, is_same_colour, is_transparent},
    declaration::{Declaration, PICTURE, PROPERTY_COUNT, Property},
};

/// The place of the style that hides a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HidingSource {
    /// The element, or one around it, by an inline style or an old attribute.
    Element,
    StyleSheet,
}

/// Pixels below which letters are not seen, and parts of the letters around them.
const MIN_FONT_PIXELS: f64 = 2.0;
const MIN_FONT_PART: f64 = 0.1;

/// The declarations of an element that win, of each property one.
#[derive(Debug, Default)]
pub(super) struct ElementStyle<'s> {
    values: [Option<(u64, &'s str, HidingSource)>; PROPERTY_COUNT],
}

impl<'s> ElementStyle<'s> {
    /// Adds a declaration; of one property, the greatest `weight` wins, and the last of equal ones.
    pub(super) fn add(&mut self, declaration: &'s Declaration, weight: u64, source: HidingSource) {
        if let Some(place) = self.values.get_mut(declaration.property as usize)
            && place.is_none_or(|(known, ..)| known <= weight)
        {
            *place = Some((weight, &declaration.value, source));
        }
    }

    fn get(&self, property: Property) -> Option<(&'s str, HidingSource)> {
        self.values.get(property as usize).copied().flatten().map(|(_, value, source)| (value, source))
    }

    fn value(&self, property: Property) -> &'s str {
        self.get(property).map_or("", |(value, _)| value)
    }

    /// Returns the place of the style that hides the element with all in it.
    pub(super) fn hiding_source(&self) -> Option<HidingSource> {
        use Property::*;
        let is_positioned = self.value(Position) != "static";
        let overflow = self.get(Overflow);
        let is_cut = |source| match overflow {
            Some((value, _)) => !value.starts_with("visible"),
            // A sheet that is not read may cut what an element makes small.
            None => source == HidingSource::Element,
        };
        let hides = |property: Property| {
            let (value, source) = self.get(property)?;
            let is_hiding = match property {
                Display => value == "none",
                ContentVisibility => value == "hidden",
                Opacity | Zoom => is_near_zero(value),
                Scale => value.split(' ').any(is_near_zero),
                Width | Height | MaxWidth | MaxHeight => {
                    (is_near_zero(value) || value == "1px") && is_cut(source)
                }
                Left | Right | Top | Bottom => is_positioned && is_far_away(value),
                // Columns of one height have a great margin below.
                MarginBottom => source == HidingSource::Element && is_far_away(value),
                MarginLeft | MarginRight | MarginTop => is_far_away(value),
                Translate => value.split(' ').any(is_far_away),
                Clip => is_positioned && is_empty_rectangle(value),
                ClipPath => is_empty_shape(value),
                Filter => value.split(' ').any(|it| it.strip_prefix("opacity(").is_some_and(is_near_zero)),
                Transform => value.split(')').any(|it| is_hiding_transform(it.trim())),
                _ => false,
            };
            is_hiding.then_some(source)
        };
        [
            Display,
            ContentVisibility,
            Opacity,
            Zoom,
            Scale,
            Width,
            Height,
            MaxWidth,
            MaxHeight,
            Left,
            Right,
            Top,
            Bottom,
            MarginBottom,
            MarginLeft,
            MarginRight,
            MarginTop,
            Translate,
            Clip,
            ClipPath,
            Filter,
            Transform,
        ]
        .into_iter()
        .find_map(hides)
    }
}

/// The paint behind a text.
#[derive(Debug, Clone, Copy)]
enum Backdrop {
    /// The page itself, which no style paints.
    Page,
    Colour(u32, HidingSource),
    /// A picture, or a colour that is not known.
    Unknown,
}

/// The properties of a text that it has from the elements around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextStyle {
    is_invisible: Option<HidingSource>,
    is_tiny: Option<HidingSource>,
    is_transparent: Option<HidingSource>,
    /// `-webkit-text-fill-color`, which has precedence over the colour.
    has_no_fill: Option<HidingSource>,
    is_indented_away: Option<HidingSource>,
    is_spaced_away: Option<HidingSource>,
    colour: Option<(u32, HidingSource)>,
    backdrop: Backdrop,
    /// The letters are the shape of a background.
    is_shape: bool,
}

impl TextStyle {
    pub(super) const PLAIN: Self = Self {
        is_invisible: None,
        is_tiny: None,
        is_transparent: None,
        has_no_fill: None,
        is_indented_away: None,
        is_spaced_away: None,
        colour: None,
        backdrop: Backdrop::Page,
        is_shape: false,
    };

    /// The properties of the text in an element; a link does not have the colour around it.
    pub(super) fn within(mut self, style: &ElementStyle<'_>, is_link: bool) -> Self {
        let set = |flag: &mut Option<HidingSource>, property, test: &dyn Fn(&str) -> bool| {
            if let Some((value, source)) = style.get(property)
                && !matches!(value, "inherit" | "unset" | "revert" | "revert-layer")
            {
                *flag = test(value).then_some(source);
            }
        };
        set(&mut self.is_invisible, Property::Visibility, &|it| matches!(it, "hidden" | "collapse"));
        set(&mut self.is_indented_away, Property::TextIndent, &is_far_away);
        set(&mut self.is_spaced_away, Property::LetterSpacing, &is_far_away);
        set(&mut self.has_no_fill, Property::FillColor, &is_transparent);
        let was_tiny = self.is_tiny.is_some();
        set(&mut self.is_tiny, Property::FontSize, &|it| is_tiny_font(it, was_tiny));
        if is_link {
            (self.colour, self.is_transparent) = (None, None);
        }
        if let Some((value, source)) = style.get(Property::Color)
            && !matches!(value, "inherit" | "unset" | "currentcolor")
        {
            self.is_transparent = is_transparent(value).then_some(source);
            self.colour = canonical_colour(value).map(|colour| (colour, source));
        }
        if let Some((value, source)) = style.get(Property::Background) {
            self.backdrop = match canonical_colour(value) {
                _ if value == PICTURE => Backdrop::Unknown,
                _ if is_transparent(value) => self.backdrop,
                Some(colour) => Backdrop::Colour(colour, source),
                None if matches!(value, "none" | "initial" | "unset" | "inherit" | "revert") => self.backdrop,
                None => Backdrop::Unknown,
            };
        }
        self.is_shape |= style.value(Property::BackgroundClip) == "text";
        self
    }

    /// Returns the place of the style that hides a text with these properties.
    pub(super) fn hiding_source(&self) -> Option<HidingSource> {
        let places = [self.is_invisible, self.is_tiny, self.is_indented_away, self.is_spaced_away];
        let paint = [self.is_transparent, self.has_no_fill, self.colour_source()];
        let paint = paint.into_iter().filter(|_| !self.is_shape);
        places.into_iter().chain(paint).flatten().next()
    }

    /// Returns the place of the style that gives a text the colour behind it.
    fn colour_source(&self) -> Option<HidingSource> {
        let (text, source) = self.colour?;
        let Backdrop::Colour(behind, other) = self.backdrop else { return None };
        let both = if source == other { source } else { HidingSource::StyleSheet };
        is_same_colour(text, behind).then_some(both)
    }
}

fn is_tiny_font(value: &str, was_tiny: bool) -> bool {
    let Some((size, unit)) = number(value) else {
        return was_tiny && matches!(value, "larger" | "smaller");
    };
    match unit {
        "em" | "%" | "ex" | "ch" => {
            was_tiny || size < if unit == "%" { MIN_FONT_PART * 100.0 } else { MIN_FONT_PART }
        }
        "rem" | "vw" | "vh" | "cm" | "in" | "mm" => size < MIN_FONT_PART,
        _ => size < MIN_FONT_PIXELS,
    }
}

/// Returns `true` for a part of a transformation, without its `)`, that leaves nothing, or moves the element away.
fn is_hiding_transform(part: &str) -> bool {
    let Some((function, arguments)) = part.split_once('(') else { return false };
    let mut arguments = arguments.split(',').map(str::trim);
    match function {
        "scale" | "scalex" | "scaley" | "scale3d" => arguments.take(2).any(is_near_zero),
        "translate" | "translatex" | "translatey" | "translate3d" => arguments.any(is_far_away),
        "rotatex" | "rotatey" => arguments.next() == Some("90deg"),
        "matrix" => {
            let numbers: Vec<&str> = arguments.collect();
            let is = |index: usize, test: fn(&str) -> bool| numbers.get(index).is_some_and(|it| test(it));
            let is_flat = |one, other| is(one, is_near_zero) && is(other, is_near_zero);
            is_flat(0, 1) || is_flat(2, 3) || is(4, is_far_away) || is(5, is_far_away)
        }
        _ => false,
    }
}

/// Returns `true` for a rectangle of at most one point.
fn is_empty_rectangle(value: &str) -> bool {
    let sides = value.strip_prefix("rect(").and_then(|it| it.strip_suffix(')')).unwrap_or_default();
    let mut sides = sides.split([',', ' ']).filter(|it| !it.is_empty()).peekable();
    sides.peek().is_some() && sides.all(|it| number(it).is_some_and(|(side, _)| side.abs() <= 1.0))
}

fn is_empty_shape(value: &str) -> bool {
    let Some((shape, arguments)) = value.split_once('(') else { return false };
    match shape {
        "inset" => number(arguments).is_some_and(|(it, unit)| it >= 50.0 && unit.starts_with('%')),
        "circle" | "ellipse" => is_near_zero(arguments),
        "polygon" => {
            let mut numbers = arguments.trim_end_matches(')').split([',', ' ']).filter(|it| !it.is_empty());
            numbers.all(is_near_zero)
        }
        _ => false,
    }
}

/// A number and what follows it, also as all that is calculated.
pub(super) fn number(value: &str) -> Option<(f64, &str)> {
    let value = value.strip_prefix("calc(").and_then(|it| it.strip_suffix(')')).unwrap_or(value);
    let end =
        value.find(|it: char| !it.is_ascii_digit() && !matches!(it, '.' | '-' | '+')).unwrap_or(value.len());
    let (number, unit) = value.split_at_checked(end)?;
    Some((number.parse().ok()?, unit))
}

fn is_near_zero(value: &str) -> bool {
    number(value).is_some_and(|(it, _)| it.abs() < 0.05)
}

pub(super) fn is_far_away(value: &str) -> bool {
    let Some((distance, unit)) = number(value) else { return false };
    match () {
        () if ["vw", "vh", "%"].iter().any(|relative| unit.starts_with(relative)) => distance <= -100.0,
        () if unit.starts_with("em") || unit.starts_with("rem") => distance <= -60.0 || distance >= 200.0,
        () => distance <= -500.0 || distance >= 3000.0,
    }
}
