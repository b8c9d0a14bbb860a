//! The declarations by which a text can be hidden.

use cssparser::{ParseError, Parser, Token, parse_important};

use super::validity::is_valid;

/// Bytes of a value; longer ones are those of shapes and images.
const MAX_VALUE_BYTES: usize = 512;

/// Levels of functions in a value.
const MAX_DEPTH: usize = 8;

/// A value of a background that has no single colour.
pub(super) const PICTURE: &str = "picture";

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
    BackgroundClip,
    FontSize,
    LetterSpacing,
    TextIndent,
    Width,
    Height,
    MaxWidth,
    MaxHeight,
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
            read_declaration(&name, input, &mut declarations)
        });
        // A mistake costs its declaration.
        let _: Result<(), ParseError<()>> = read;
    }
    declarations
}

/// Reads the value of a property, and adds what decides about text. An error stands for a rule in place of a value.
pub(super) fn read_declaration(
    name: &str,
    input: &mut Parser<'_>,
    declarations: &mut Vec<Declaration>,
) -> Result<(), ParseError<()>> {
    let (mut value, mut is_important) = (String::new(), false);
    write_value(input, &mut value, &mut is_important, 0)?;
    if value.is_empty() {
        return Ok(());
    }
    let mut push = |property, value: &str| {
        if is_valid(property, value) {
            declarations.push(Declaration { property, value: value.to_owned(), is_important });
        }
    };
    let components = || components(&value);
    match &*name.to_ascii_lowercase() {
        "background" | "background-color" | "background-image" => {
            push(Property::Background, background_colour(name, &value));
        }
        "font" => push(Property::FontSize, font_size(&value)),
        "margin" | "inset" => {
            use Property::{Bottom, Left, MarginBottom, MarginLeft, MarginRight, MarginTop, Right, Top};
            let sides = match name.eq_ignore_ascii_case("margin") {
                true => [MarginTop, MarginRight, MarginBottom, MarginLeft],
                false => [Top, Right, Bottom, Left],
            };
            let values: Vec<&str> = components().collect();
            let indices: [usize; 4] = match values.len() {
                1 => [0; 4],
                2 => [0, 1, 0, 1],
                3 => [0, 1, 2, 1],
                _ => [0, 1, 2, 3],
            };
            for (side, index) in sides.into_iter().zip(indices) {
                push(side, values.get(index).copied().unwrap_or_default());
            }
        }
        "overflow" | "overflow-x" | "overflow-y" => push(Property::Overflow, &value),
        name => {
            if let Some(property) = single_property(name) {
                push(property, &value);
            }
        }
    }
    Ok(())
}

fn single_property(name: &str) -> Option<Property> {
    Some(match name {
        "display" => Property::Display,
        "visibility" => Property::Visibility,
        "content-visibility" => Property::ContentVisibility,
        "opacity" => Property::Opacity,
        "zoom" => Property::Zoom,
        "scale" => Property::Scale,
        "color" => Property::Color,
        "-webkit-text-fill-color" => Property::FillColor,
        "background-clip" | "-webkit-background-clip" => Property::BackgroundClip,
        "font-size" => Property::FontSize,
        "letter-spacing" => Property::LetterSpacing,
        "text-indent" => Property::TextIndent,
        "width" | "inline-size" => Property::Width,
        "height" | "block-size" => Property::Height,
        "max-width" | "max-inline-size" => Property::MaxWidth,
        "max-height" | "max-block-size" => Property::MaxHeight,
        "position" => Property::Position,
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

/// Writes the rest of a value: escapes decoded, without comments, blanks only between two parts.
fn write_value(
    input: &mut Parser<'_>,
    value: &mut String,
    is_important: &mut bool,
    depth: usize,
) -> Result<(), ParseError<()>> {
    let mut has_space = false;
    loop {
        if depth == 0 && input.try_parse(parse_important).is_ok() {
            *is_important = true;
        }
        let Ok(token) = input.next_including_whitespace() else { return Ok(()) };
        let token = token.clone();
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
            Token::Number { value, .. } => part = value.to_string(),
            Token::Percentage { unit_value, .. } => part = format!("{}%", unit_value * 100.0),
            Token::Dimension { value, unit, .. } => part = format!("{value}{}", unit.to_ascii_lowercase()),
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
            if depth == MAX_DEPTH {
                continue;
            }
            input.parse_nested_block(|input| write_value(input, value, is_important, depth + 1))?;
            if is_open {
                value.push(')');
            }
        }
    }
}

/// The text of the conditions of an at-rule.
pub(super) fn condition_text(input: &mut Parser<'_>) -> Result<String, ParseError<()>> {
    let (mut text, mut is_important) = (String::new(), false);
    write_value(input, &mut text, &mut is_important, 0)?;
    Ok(text)
}

/// The parts of a value that stand between blanks outside of parentheses.
fn components(value: &str) -> impl Iterator<Item = &str> {
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

/// The colour among the parts of a background; [`PICTURE`] if something else is painted.
fn background_colour<'v>(name: &str, value: &'v str) -> &'v str {
    let is_picture = ["url(", "gradient(", "image(", "image-set(", "element(", "paint("];
    if is_picture.iter().any(|it| value.contains(it)) || value.len() >= MAX_VALUE_BYTES {
        return PICTURE;
    }
    if name.eq_ignore_ascii_case("background-image") {
        return "none";
    }
    let is_colour = |it: &&str| super::super::colour::canonical_colour(it).is_some();
    components(value).find(is_colour).unwrap_or(value)
}

/// The size in a value of `font`; the keywords of a whole value, such as `inherit`, stay.
fn font_size(value: &str) -> &str {
    let is_size = |it: &&str| {
        let has_line_height = it.contains('/');
        let size = it.split('/').next().unwrap_or_default();
        let is_weight = size.parse::<f64>().is_ok_and(|it| it >= 1.0) && !has_line_height;
        size.starts_with(|it: char| it.is_ascii_digit() || it == '.') && !is_weight
    };
    let size = components(value).find(is_size).unwrap_or(value);
    size.split('/').next().unwrap_or(size)
}
