//! The declarations by which a text can be hidden.

use cssparser::{ParseError, Parser, Token};

use super::validity::is_valid_value;

/// Bytes of a value; longer ones are those of shapes and images.
const MAX_VALUE_BYTES: usize = 512;

/// A value of a background that has no single colour; no style sheet has a capital letter here.
pub(super) const PICTURE: &str = "PICTURE";

/// A value that is longer than [`MAX_VALUE_BYTES`]. It hides nothing.
pub(super) const UNREAD: &str = "UNREAD";

/// The greatest number of a value; greater ones are taken as it.
const MAX_NUMBER: f32 = 1e9;

/// The properties that decide whether a text is shown. Shorthands become these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    Display,
    Visibility,
    ContentVisibility,
    Opacity,
    Zoom,
    Scale,
    Color,
    FillColor,
    Background,
    BackgroundImage,
    BackgroundClip,
    FontSize,
    LetterSpacing,
    TextIndent,
    Width,
    Height,
    MaxWidth,
    MaxHeight,
    MinWidth,
    MinHeight,
    Overflow,
    Position,
    Left,
    Right,
    Top,
    Bottom,
    MarginLeft,
    MarginRight,
    MarginTop,
    MarginBottom,
    PaddingLeft,
    PaddingRight,
    PaddingTop,
    PaddingBottom,
    Float,
    FlexGrow,
    FlexDirection,
    Clip,
    ClipPath,
    Filter,
    Transform,
    Translate,
}

pub(super) const PROPERTY_COUNT: usize = Property::Translate as usize + 1;

/// A property with its value, in small letters and with single blanks.
#[derive(Debug, Clone)]
pub(super) struct Declaration {
    pub(super) property: Property,
    pub(super) value: String,
    pub(super) is_important: bool,
}

/// Returns the declarations of an inline style.
pub(super) fn inline_declarations(style: &str) -> Vec<Declaration> {
    let mut declarations = Vec::new();
    let mut input = Parser::new(style);
    while !input.is_exhausted() {
        let read = input.parse_until_after(cssparser::Delimiter::Semicolon, |input| {
            let name = input.expect_ident_cloned()?;
            input.expect_colon()?;
            read_and_push_declarations(&name, input, &mut declarations)
        });
        // A mistake costs its declaration.
        let _: Result<(), ParseError<()>> = read;
    }
    declarations
}

/// Reads the value of a property, and adds what decides about text. An error stands for a rule in place of a value.
pub(super) fn read_and_push_declarations(
    name: &str,
    input: &mut Parser<'_>,
    declarations: &mut Vec<Declaration>,
) -> Result<(), ParseError<()>> {
    let (mut value, mut is_important) = (String::new(), false);
    write_normalized_value(input, &mut value, Some(&mut is_important))?;
    if value.is_empty() {
        return Ok(());
    }
    if value.len() >= MAX_VALUE_BYTES {
        UNREAD.clone_into(&mut value);
    }
    let mut push = |property, value: &str| {
        if is_valid_value(property, value) {
            declarations.push(Declaration { property, value: value.to_owned(), is_important });
        }
    };
    match &*name.to_ascii_lowercase() {
        "background" => {
            push(Property::Background, background_colour(&value));
            push(Property::BackgroundImage, if is_picture(&value) { PICTURE } else { "none" });
        }
        "background-image" if is_picture(&value) => push(Property::BackgroundImage, PICTURE),
        "font" => push(Property::FontSize, font_size_of_font(&value)),
        shorthand @ ("margin" | "padding" | "inset") => {
            for (side, value) in side_properties(shorthand).into_iter().zip(side_values(&value)) {
                push(side, value);
            }
        }
        "flex" => push(Property::FlexGrow, flex_grow_of_flex(&value)),
        "flex-flow" => {
            let direction = value_components(&value).find(|it| !it.contains("wrap")).unwrap_or("row");
            push(Property::FlexDirection, direction);
        }
        "overflow" | "overflow-x" | "overflow-y" => push(Property::Overflow, &value),
        name => {
            if let Some(property) = longhand_property(name) {
                push(property, &value);
            }
        }
    }
    Ok(())
}

fn longhand_property(name: &str) -> Option<Property> {
    Some(match name {
        "display" => Property::Display,
        "visibility" => Property::Visibility,
        "content-visibility" => Property::ContentVisibility,
        "opacity" => Property::Opacity,
        "zoom" => Property::Zoom,
        "scale" => Property::Scale,
        "color" => Property::Color,
        "-webkit-text-fill-color" => Property::FillColor,
        "background-color" => Property::Background,
        "background-image" => Property::BackgroundImage,
        "background-clip" | "-webkit-background-clip" => Property::BackgroundClip,
        "font-size" => Property::FontSize,
        "letter-spacing" => Property::LetterSpacing,
        "text-indent" => Property::TextIndent,
        "width" | "inline-size" => Property::Width,
        "height" | "block-size" => Property::Height,
        "max-width" | "max-inline-size" => Property::MaxWidth,
        "max-height" | "max-block-size" => Property::MaxHeight,
        "min-width" | "min-inline-size" => Property::MinWidth,
        "min-height" | "min-block-size" => Property::MinHeight,
        "position" => Property::Position,
        "float" => Property::Float,
        "flex-grow" => Property::FlexGrow,
        "flex-direction" => Property::FlexDirection,
        "padding-left" | "padding-inline-start" => Property::PaddingLeft,
        "padding-right" | "padding-inline-end" => Property::PaddingRight,
        "padding-top" | "padding-block-start" => Property::PaddingTop,
        "padding-bottom" | "padding-block-end" => Property::PaddingBottom,
        "left" | "inset-inline-start" => Property::Left,
        "right" | "inset-inline-end" => Property::Right,
        "top" | "inset-block-start" => Property::Top,
        "bottom" | "inset-block-end" => Property::Bottom,
        "margin-left" | "margin-inline-start" => Property::MarginLeft,
        "margin-right" | "margin-inline-end" => Property::MarginRight,
        "margin-top" | "margin-block-start" => Property::MarginTop,
        "margin-bottom" | "margin-block-end" => Property::MarginBottom,
        "clip" => Property::Clip,
        "clip-path" | "-webkit-clip-path" => Property::ClipPath,
        "filter" | "-webkit-filter" => Property::Filter,
        "transform" | "-webkit-transform" => Property::Transform,
        "translate" => Property::Translate,
        _ => return None,
    })
}

/// The properties of the sides of a shorthand, from the top to the right.
fn side_properties(shorthand: &str) -> [Property; 4] {
    use Property::*;
    match shorthand {
        "margin" => [MarginTop, MarginRight, MarginBottom, MarginLeft],
        "padding" => [PaddingTop, PaddingRight, PaddingBottom, PaddingLeft],
        _ => [Top, Right, Bottom, Left],
    }
}

/// The parts of a value for the sides, from the top to the right; the empty text for one that is missing.
pub(super) fn side_values(value: &str) -> [&str; 4] {
    let values: Vec<&str> = value_components(value).collect();
    let indices: [usize; 4] = match values.len() {
        1 => [0; 4],
        2 => [0, 1, 0, 1],
        3 => [0, 1, 2, 1],
        _ => [0, 1, 2, 3],
    };
    indices.map(|index| values.get(index).copied().unwrap_or_default())
}

/// The part of the free room that an element takes by a value of `flex`.
fn flex_grow_of_flex(value: &str) -> &str {
    match value_components(value).next() {
        Some("none" | "initial" | "unset" | "revert") => "0",
        Some(part) if part.parse::<f64>().is_ok() => part,
        _ => "1",
    }
}

/// Writes the rest of a value: escapes decoded, without comments, blanks only between two parts.
fn write_normalized_value(
    input: &mut Parser<'_>,
    value: &mut String,
    mut is_important: Option<&mut bool>,
) -> Result<(), ParseError<()>> {
    let mut has_space = false;
    loop {
        let Ok(token) = input.next_including_whitespace() else { return Ok(()) };
        let token = token.clone();
        // Asked after its mark alone: each look ahead passes over all comments and blanks.
        if token == Token::Delim('!')
            && let Some(is_important) = is_important.as_deref_mut()
            && input.try_parse(|input| input.expect_ident_matching("important")).is_ok()
        {
            *is_important = true;
            continue;
        }
        let mut part = String::new();
        let is_tight = matches!(token, Token::Comma | Token::Delim('/' | '*'));
        match &token {
            Token::WhiteSpace(_) => {
                has_space = !value.is_empty() && !value.ends_with(['(', ',', '/', ':', '*']);
                continue;
            }
            Token::CurlyBracketBlock => return Err(ParseError::custom(())),
            Token::Ident(name) => part = name.to_ascii_lowercase(),
            Token::Function(name) => part = name.to_ascii_lowercase() + "(",
            Token::ParenthesisBlock => part.push('('),
            Token::IDHash(name) | Token::Hash(name) => part = format!("#{}", name.to_ascii_lowercase()),
            Token::Number { value, .. } => part = clamp_to_max_number(*value).to_string(),
            Token::Percentage { unit_value, .. } => {
                part = format!("{}%", clamp_to_max_number(unit_value * 100.0))
            }
            Token::Dimension { value, unit, .. } => {
                part = format!("{}{}", clamp_to_max_number(*value), unit.to_ascii_lowercase())
            }
            Token::UnquotedUrl(_) => part.push_str("url()"),
            Token::Comma => part.push(','),
            Token::Colon => part.push(':'),
            Token::Delim(delimiter) => part.push(*delimiter),
            _ => part.push('?'),
        }
        let is_open = value.len() < MAX_VALUE_BYTES;
        if is_open {
            if std::mem::take(&mut has_space) && !is_tight {
                value.push(' ');
            }
            value.push_str(&part);
        }
        if matches!(token, Token::Function(_) | Token::ParenthesisBlock) {
            // The parser has a limit of levels.
            input.parse_nested_block(|input| write_normalized_value(input, value, None))?;
            if is_open {
                value.push(')');
            }
        }
    }
}

fn clamp_to_max_number(number: f32) -> f32 {
    number.clamp(-MAX_NUMBER, MAX_NUMBER)
}

/// The text of the conditions of an at-rule.
pub(super) fn read_condition_text(input: &mut Parser<'_>) -> Result<String, ParseError<()>> {
    let mut text = String::new();
    write_normalized_value(input, &mut text, None)?;
    Ok(text)
}

/// The parts of a value that stand between blanks outside of parentheses.
pub(super) fn value_components(value: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    value.split(move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ' ' && depth == 0
    })
}

/// Returns `true` for a background that may have more than one colour.
fn is_picture(value: &str) -> bool {
    let functions =
        ["url(", "gradient(", "image(", "image-set(", "element(", "paint(", "cross-fade(", "var("];
    value == UNREAD || functions.iter().any(|it| value.contains(it))
}

/// The colour among the parts of a background.
fn background_colour(value: &str) -> &str {
    let is_colour = |it: &&str| super::super::colour::canonical_colour(it).is_some();
    value_components(value).find(is_colour).unwrap_or(if is_picture(value) { PICTURE } else { value })
}

/// The size in a value of `font`; the keywords of a whole value, such as `inherit`, stay.
fn font_size_of_font(value: &str) -> &str {
    let is_size = |it: &&str| {
        let has_line_height = it.contains('/');
        let size = it.split('/').next().unwrap_or_default();
        let is_weight = size.parse::<f64>().is_ok_and(|it| it >= 1.0) && !has_line_height;
        size.starts_with(|it: char| it.is_ascii_digit() || it == '.') && !is_weight
    };
    let size = value_components(value).find(is_size).unwrap_or(value);
    size.split('/').next().unwrap_or(size)
}
