//! The declarations that hide an element, and those that hide its text alone.

use super::{
    super::colour::{
        alpha_of_colour, canonical_colour, is_opaque, is_same_colour, is_transparent, mixed_colour,
    },
    CascadeWeight,
    declaration::{Declaration, PICTURE, PROPERTY_COUNT, Property, side_values, value_components},
    layout::ParentLayout,
    length::{
        Axis, CssLength, font_pixels, functions_and_arguments, is_far_away, is_invisible_fraction,
        is_zero_scale, number_and_unit,
    },
    media::EM,
};

/// The place of the style that hides a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HidingSource {
    /// The element, or one around it, by an inline style or an old attribute.
    Element,
    StyleSheet,
}

impl HidingSource {
    /// The place of what two styles hide together.
    pub(super) fn combined_with(self, other: Self) -> Self {
        if self == other { self } else { Self::StyleSheet }
    }
}

/// Pixels below which letters are not seen.
const MIN_FONT_PIXELS: f64 = 2.0;

/// The declarations of an element that win, of each property one.
#[derive(Debug)]
pub(super) struct ElementStyle<'s> {
    values: [Option<(CascadeWeight, &'s str, HidingSource)>; PROPERTY_COUNT],
}

impl Default for ElementStyle<'_> {
    fn default() -> Self {
        Self { values: [None; PROPERTY_COUNT] }
    }
}

impl<'s> ElementStyle<'s> {
    /// Adds a declaration; of one property, the greatest `weight` wins, and the last of equal ones.
    pub(super) fn add_if_stronger(
        &mut self,
        declaration: &'s Declaration,
        weight: CascadeWeight,
        source: HidingSource,
    ) {
        if let Some(place) = self.values.get_mut(declaration.property as usize)
            && place.is_none_or(|(known, ..)| known <= weight)
        {
            *place = Some((weight, &declaration.value, source));
        }
    }

    pub(super) fn get(&self, property: Property) -> Option<(&'s str, HidingSource)> {
        self.values.get(property as usize).copied().flatten().map(|(_, value, source)| (value, source))
    }

    pub(super) fn value_or_empty(&self, property: Property) -> &'s str {
        self.get(property).map_or("", |(value, _)| value)
    }

    /// Returns the place of the style that hides the element with all in it; `parent` is the layout of its parent.
    pub(super) fn hiding_source(&self, tag: &str, parent: ParentLayout) -> Option<HidingSource> {
        use Property::{
            Clip, ClipPath, ContentVisibility, Display, Filter, Opacity, Scale, Transform, Translate, Zoom,
        };
        let hides = |property: Property, test: &dyn Fn(&str) -> bool| {
            self.get(property).filter(|(value, _)| test(value)).map(|(_, source)| source)
        };
        let is_clipped = |value: &str| {
            let position = self.value_or_empty(Property::Position);
            !matches!(position, "static" | "relative" | "sticky" | "-webkit-sticky")
                && is_empty_rectangle(value)
        };
        hides(Display, &|it| it == "none")
            .or_else(|| hides(ContentVisibility, &|it| it == "hidden"))
            .or_else(|| hides(Opacity, &is_invisible_fraction))
            .or_else(|| hides(Zoom, &is_zero_scale))
            .or_else(|| hides(Scale, &|it| value_components(it).take(2).any(is_zero_scale)))
            .or_else(|| self.empty_box_source(tag, parent))
            .or_else(|| self.shift_source())
            .or_else(|| hides(Translate, &|it| is_translated_away(value_components(it))))
            .or_else(|| hides(Clip, &is_clipped))
            .or_else(|| hides(ClipPath, &|it| functions_and_arguments(it).into_iter().any(is_empty_shape)))
            .or_else(|| {
                let is_opacity =
                    |(name, part): &(&str, &str)| *name == "opacity" && is_invisible_fraction(part);
                hides(Filter, &|it| functions_and_arguments(it).iter().any(is_opacity))
            })
            .or_else(|| {
                hides(Transform, &|it| functions_and_arguments(it).into_iter().any(is_hiding_transform))
            })
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
    /// The size of the letters; `None` if it is not known.
    font_pixels: Option<f64>,
    font_source: HidingSource,
    is_transparent: Option<HidingSource>,
    /// `-webkit-text-fill-color`, which has precedence over the colour.
    has_no_fill: Option<HidingSource>,
    is_indented_away: Option<HidingSource>,
    is_spaced_away: Option<HidingSource>,
    colour: Option<(u32, HidingSource)>,
    backdrop: Backdrop,
    /// The letters are the shape of a background.
    is_shape: bool,
    /// The layout of the elements inside, which they do not have from those around them.
    pub(super) layout: ParentLayout,
}

impl TextStyle {
    pub(super) const PLAIN: Self = Self {
        is_invisible: None,
        font_pixels: Some(EM),
        font_source: HidingSource::Element,
        is_transparent: None,
        has_no_fill: None,
        is_indented_away: None,
        is_spaced_away: None,
        colour: None,
        backdrop: Backdrop::Page,
        is_shape: false,
        layout: ParentLayout::Unknown,
    };

    /// The properties of the text in an element; a link does not have the colour around it.
    pub(super) fn inherited_by(mut self, style: &ElementStyle<'_>, is_link: bool) -> Self {
        let set = |flag: &mut Option<HidingSource>, property, test: &dyn Fn(&str) -> bool| {
            if let Some((value, source)) = style.get(property)
                && !matches!(value, "inherit" | "unset" | "revert" | "revert-layer")
            {
                *flag = test(value).then_some(source);
            }
        };
        set(&mut self.is_invisible, Property::Visibility, &|it| matches!(it, "hidden" | "collapse"));
        set(&mut self.is_indented_away, Property::TextIndent, &|it| is_far_away(it, Axis::Horizontal));
        set(&mut self.is_spaced_away, Property::LetterSpacing, &|it| is_far_away(it, Axis::Horizontal));
        set(&mut self.has_no_fill, Property::FillColor, &is_transparent);
        self.set_font(style);
        match style.get(Property::Color) {
            Some(("inherit" | "unset" | "currentcolor", _)) => {}
            Some(("revert", _)) | None if !is_link => {}
            Some((value, source)) => {
                self.is_transparent = is_transparent(value).then_some(source);
                self.colour = canonical_colour(value).map(|colour| (colour, source));
            }
            None => (self.colour, self.is_transparent) = (None, None),
        }
        self.set_backdrop(style);
        self.layout = ParentLayout::of_style(style);
        self.is_shape |= style.value_or_empty(Property::BackgroundClip) == "text";
        self
    }

    fn set_font(&mut self, style: &ElementStyle<'_>) {
        let Some((value, source)) = style.get(Property::FontSize) else { return };
        if matches!(value, "inherit" | "unset" | "revert" | "revert-layer") {
            return;
        }
        let was_tiny = self.is_tiny();
        self.font_pixels = font_pixels(value, self.font_pixels);
        // Letters of an invisible size around it hide it, whatever part of them it takes.
        if !(was_tiny && self.is_tiny()) {
            self.font_source = source;
        }
    }

    fn is_tiny(&self) -> bool {
        self.font_pixels.is_some_and(|it| it < MIN_FONT_PIXELS)
    }

    fn set_backdrop(&mut self, style: &ElementStyle<'_>) {
        if let Some((value, source)) = style.get(Property::Background) {
            self.backdrop = match (canonical_colour(value), self.backdrop) {
                (_, behind) if is_transparent(value) => behind,
                (Some(colour), _) if is_opaque(value) => Backdrop::Colour(colour, source),
                // What shines through is a part of the colour.
                (Some(colour), Backdrop::Colour(behind, other)) => match alpha_of_colour(value) {
                    Some(alpha) => {
                        Backdrop::Colour(mixed_colour(colour, behind, alpha), source.combined_with(other))
                    }
                    None => Backdrop::Unknown,
                },
                (None, behind) if matches!(value, "none" | "initial" | "unset" | "inherit" | "revert") => {
                    behind
                }
                _ => Backdrop::Unknown,
            };
        }
        if style.value_or_empty(Property::BackgroundImage) == PICTURE {
            self.backdrop = Backdrop::Unknown;
        }
    }

    /// Returns the place of the style that hides a text with these properties.
    pub(super) fn hiding_source(&self) -> Option<HidingSource> {
        let tiny = self.is_tiny().then_some(self.font_source);
        let places = [self.is_invisible, tiny, self.is_indented_away, self.is_spaced_away];
        let paint = [self.is_transparent, self.has_no_fill, self.colour_source()];
        let paint = paint.into_iter().filter(|_| !self.is_shape);
        places.into_iter().chain(paint).flatten().next()
    }

    /// Returns the place of the style that gives a text the colour behind it.
    fn colour_source(&self) -> Option<HidingSource> {
        let (text, source) = self.colour?;
        let Backdrop::Colour(behind, other) = self.backdrop else { return None };
        is_same_colour(text, behind).then_some(source.combined_with(other))
    }
}

/// Returns `true` for a function of a transformation that leaves nothing, or moves the element away.
fn is_hiding_transform((name, arguments): (&str, &str)) -> bool {
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    let is = |index: usize, test: &dyn Fn(&str) -> bool| arguments.get(index).is_some_and(|it| test(it));
    match name {
        "scale" | "scale3d" => is(0, &is_zero_scale) || is(1, &is_zero_scale),
        "scalex" | "scaley" => is(0, &is_zero_scale),
        "translate" | "translate3d" | "translatex" => is_translated_away(arguments.iter().copied()),
        "translatey" => is(0, &|it| is_far_away(it, Axis::Vertical)),
        "rotatex" | "rotatey" => is(0, &|it| it == "90deg"),
        "matrix" => {
            let is_flat = |one, other| is(one, &is_zero_scale) && is(other, &is_zero_scale);
            let is_away = |index, axis| is(index, &|it| is_far_away(it, axis));
            is_flat(0, 1) || is_flat(2, 3) || is_away(4, Axis::Horizontal) || is_away(5, Axis::Vertical)
        }
        _ => false,
    }
}

/// Returns `true` for distances, first the horizontal one, that move the element away.
fn is_translated_away<'v>(distances: impl IntoIterator<Item = &'v str>) -> bool {
    let axes = [Axis::Horizontal, Axis::Vertical];
    axes.into_iter().zip(distances).any(|(axis, distance)| is_far_away(distance, axis))
}

/// Returns `true` for a rectangle of at most one point from side to side.
fn is_empty_rectangle(value: &str) -> bool {
    let [("rect", sides)] = functions_and_arguments(value)[..] else { return false };
    let sides: Vec<Option<f64>> = sides
        .split([',', ' '])
        .filter(|it| !it.is_empty())
        .map(|it| CssLength::parse(it, Axis::Vertical).map(CssLength::pixels).filter(|_| it != "auto"))
        .collect();
    let is_point =
        |start: Option<f64>, end: Option<f64>| start.zip(end).is_some_and(|(start, end)| end - start <= 1.0);
    match sides[..] {
        [top, right, bottom, left] => is_point(top, bottom) || is_point(left, right),
        _ => false,
    }
}

fn is_empty_shape((shape, arguments): (&str, &str)) -> bool {
    let is_zero = |it: &str| number_and_unit(it).is_some_and(|(it, _)| it.abs() < 0.05);
    let mut parts = arguments.split([',', ' ']).filter(|it| !it.is_empty()).peekable();
    match shape {
        "inset" => {
            let sides = arguments.split(" round ").next().unwrap_or(arguments);
            let [top, right, bottom, left] = side_values(sides).map(inset_percentage);
            let is_empty =
                |one: Option<f64>, other| one.zip(other).is_some_and(|(one, other)| one + other >= 99.5);
            is_empty(top, bottom) || is_empty(left, right)
        }
        "circle" | "ellipse" => parts.take_while(|it| *it != "at").any(is_zero),
        "polygon" => parts.peek().is_some() && parts.all(is_zero),
        _ => false,
    }
}

/// The part of a box that an inset takes; `None` if it depends on the size of the box.
fn inset_percentage(inset: &str) -> Option<f64> {
    match number_and_unit(inset)? {
        (part, "%") => Some(part),
        (zero, _) => Some(zero).filter(|it| *it == 0.0),
    }
}
