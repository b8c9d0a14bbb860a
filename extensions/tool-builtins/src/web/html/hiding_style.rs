//! Inline styles that hide an element.

/// Returns `true` if a declaration of an inline style hides the element, or moves its text away.
pub(crate) fn is_hiding_style(style: &str) -> bool {
    let style = without_comments(style);
    let is_hiding = |(property, value): (String, String)| {
        let value = value.as_str();
        match property.as_str() {
            "display" => value == "none",
            "visibility" => matches!(value, "hidden" | "collapse"),
            "content-visibility" => value == "hidden",
            "color" | "-webkit-text-fill-color" => is_transparent(value),
            "opacity" | "font-size" | "zoom" | "scale" => is_near_zero(value),
            "font" => value.starts_with("0/") || value.starts_with("0px") || value.starts_with("0em"),
            "max-height" | "max-width" | "height" | "width" => is_near_zero(value) || value == "1px",
            "left" | "right" | "top" | "bottom" | "inset" | "text-indent" | "letter-spacing"
            | "translate" | "margin" | "margin-left" | "margin-right" | "margin-top" | "margin-bottom" => {
                is_far_away(value)
            }
            "clip" => value.starts_with("rect(0") || value.starts_with("rect(1px"),
            "clip-path" => is_empty_shape(value),
            "filter" => value.strip_prefix("opacity(").is_some_and(is_near_zero),
            "transform" => value.split(')').any(is_hiding_transform),
            _ => false,
        }
    };
    declarations(&style).any(is_hiding)
}

/// The colour of the text of an element, and the colour behind it, each as red, green and blue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Colours {
    pub(crate) text: Option<u32>,
    pub(crate) behind: Option<u32>,
}

impl Colours {
    pub(crate) fn of_style(style: &str) -> Self {
        let style = without_comments(style);
        let mut colours = Self::default();
        for (property, value) in declarations(&style) {
            match property.as_str() {
                "color" => colours.text = canonical_colour(&value),
                "background" | "background-color" => colours.behind = canonical_colour(&value),
                _ => {}
            }
        }
        colours
    }
}

/// One number for the spellings of a colour; `None` if it is not known.
pub(crate) fn canonical_colour(value: &str) -> Option<u32> {
    const NAMES: [(&str, u32); 8] = [
        ("white", 0xff_ff_ff),
        ("black", 0),
        ("red", 0xff_00_00),
        ("blue", 0x00_00_ff),
        ("green", 0x00_80_00),
        ("yellow", 0xff_ff_00),
        ("gray", 0x80_80_80),
        ("grey", 0x80_80_80),
    ];
    let value = value.trim().to_ascii_lowercase();
    if let Some((_, colour)) = NAMES.iter().find(|(name, _)| *name == value) {
        return Some(*colour);
    }
    if let Some(digits) = value.strip_prefix('#') {
        return match digits.len() {
            3 => u32::from_str_radix(&digits.chars().flat_map(|it| [it, it]).collect::<String>(), 16).ok(),
            6 => u32::from_str_radix(digits, 16).ok(),
            _ => None,
        };
    }
    let parts = value.strip_prefix("rgb(")?.strip_suffix(')')?.split(',');
    let parts: Vec<u8> = parts.map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    match parts[..] {
        [red, green, blue] => Some(u32::from_be_bytes([0, red, green, blue])),
        _ => None,
    }
}

fn without_comments(style: &str) -> String {
    let mut text = String::with_capacity(style.len());
    let mut rest = style;
    while let Some((before, after)) = rest.split_once("/*") {
        text.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    text + rest
}

/// Properties and values, in small letters and without blanks.
fn declarations(style: &str) -> impl Iterator<Item = (String, String)> + '_ {
    style.split(';').filter_map(|declaration| {
        let (property, value) = declaration.split_once(':')?;
        let value: String =
            value.chars().filter(|it| !it.is_whitespace()).collect::<String>().to_ascii_lowercase();
        let value = value.trim_end_matches("!important").to_owned();
        Some((property.trim().to_ascii_lowercase(), value))
    })
}

fn is_transparent(value: &str) -> bool {
    let alpha = value
        .strip_prefix("rgba(")
        .or_else(|| value.strip_prefix("hsla("))
        .and_then(|it| it.split(',').nth(3));
    value == "transparent" || alpha.is_some_and(is_near_zero)
}

/// Returns `true` for a part of a transformation, without its `)`, that leaves nothing, or moves the element away.
fn is_hiding_transform(part: &str) -> bool {
    let Some((function, arguments)) = part.split_once('(') else { return false };
    let mut arguments = arguments.split(',');
    match function {
        "scale" | "scalex" | "scaley" | "scale3d" => arguments.take(2).any(is_near_zero),
        "translate" | "translatex" | "translatey" | "translate3d" => arguments.any(is_far_away),
        "rotatex" | "rotatey" => arguments.next() == Some("90deg"),
        _ => false,
    }
}

fn is_empty_shape(value: &str) -> bool {
    let Some((shape, arguments)) = value.split_once('(') else { return false };
    match shape {
        "inset" => number(arguments).is_some_and(|(it, unit)| it >= 50.0 && unit.starts_with('%')),
        "circle" | "ellipse" => is_near_zero(arguments),
        "polygon" => arguments
            .trim_end_matches(')')
            .split([',', ' '])
            .all(|it| it.trim_matches('0').is_empty() || it == "00"),
        _ => false,
    }
}

/// A number and what follows it.
fn number(value: &str) -> Option<(f64, &str)> {
    let end =
        value.find(|it: char| !it.is_ascii_digit() && !matches!(it, '.' | '-' | '+')).unwrap_or(value.len());
    let (number, unit) = value.split_at_checked(end)?;
    Some((number.parse().ok()?, unit))
}

fn is_near_zero(value: &str) -> bool {
    number(value).is_some_and(|(it, _)| it.abs() < 0.05)
}

fn is_far_away(value: &str) -> bool {
    let Some((distance, unit)) = number(value) else { return false };
    match () {
        () if ["vw", "vh", "%"].iter().any(|relative| unit.starts_with(relative)) => distance <= -100.0,
        () if unit.starts_with("em") || unit.starts_with("rem") => distance <= -60.0 || distance >= 200.0,
        () => distance <= -500.0 || distance >= 3000.0,
    }
}
