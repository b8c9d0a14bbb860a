//! The values that a browser takes: one that it does not know leaves the value before it in place.

use super::{
    super::colour::{canonical_colour, is_colour_name, is_transparent},
    declaration::{PICTURE, Property, UNREAD, value_components},
    length::{Axis, is_far_away, number_and_unit},
};

const UNITS: [&str; 36] = [
    "px", "em", "rem", "ex", "ch", "cap", "ic", "lh", "rlh", "vw", "vh", "vi", "vb", "vmin", "vmax", "svw",
    "svh", "lvw", "lvh", "dvw", "dvh", "cqw", "cqh", "cqi", "cqb", "cqmin", "cqmax", "cm", "mm", "q", "in",
    "pt", "pc", "%", "fr", "deg",
];

const LENGTH_WORDS: [&str; 26] = [
    "auto",
    "none",
    "normal",
    "medium",
    "xx-small",
    "x-small",
    "small",
    "large",
    "x-large",
    "xx-large",
    "xxx-large",
    "smaller",
    "larger",
    "min-content",
    "max-content",
    "fit-content",
    "stretch",
    "-webkit-fill-available",
    "caption",
    "icon",
    "menu",
    "message-box",
    "small-caption",
    "status-bar",
    "hanging",
    "each-line",
];

const DISPLAY_WORDS: [&str; 36] = [
    "none",
    "block",
    "inline",
    "inline-block",
    "flex",
    "inline-flex",
    "grid",
    "inline-grid",
    "table",
    "inline-table",
    "table-row",
    "table-cell",
    "table-column",
    "table-caption",
    "table-row-group",
    "table-header-group",
    "table-footer-group",
    "table-column-group",
    "list-item",
    "contents",
    "flow-root",
    "flow",
    "run-in",
    "ruby",
    "ruby-text",
    "ruby-base",
    "ruby-text-container",
    "ruby-base-container",
    "math",
    "-webkit-box",
    "-webkit-inline-box",
    "-webkit-flex",
    "-webkit-inline-flex",
    "-ms-flexbox",
    "-ms-grid",
    "-moz-box",
];

const BACKGROUND_WORDS: [&str; 22] = [
    "none",
    "repeat",
    "repeat-x",
    "repeat-y",
    "no-repeat",
    "space",
    "round",
    "scroll",
    "fixed",
    "local",
    "left",
    "right",
    "top",
    "bottom",
    "center",
    "cover",
    "contain",
    "auto",
    "border-box",
    "padding-box",
    "content-box",
    "text",
];

const FILTER_FUNCTIONS: [&str; 11] = [
    "opacity",
    "blur",
    "brightness",
    "contrast",
    "drop-shadow",
    "grayscale",
    "hue-rotate",
    "invert",
    "saturate",
    "sepia",
    "url",
];

/// Returns `true` if a browser takes `value`, in small letters, for the property.
pub(super) fn is_valid_value(property: Property, value: &str) -> bool {
    use Property::*;
    let is_global = ["inherit", "initial", "unset", "revert", "revert-layer"].contains(&value);
    if is_global || value.contains("var(") {
        return true;
    }
    let words_are = |words: &[&str]| value.split(' ').all(|word| words.contains(&word));
    match property {
        Display => words_are(&DISPLAY_WORDS),
        Visibility => ["visible", "hidden", "collapse"].contains(&value),
        ContentVisibility => ["visible", "auto", "hidden"].contains(&value),
        Opacity | Zoom | Scale => value_components(value).all(|part| {
            ["none", "normal", "reset", UNREAD].contains(&part)
                || starts_with_function(part, &["calc", "min", "max", "clamp"])
                || number_and_unit(part).is_some_and(|(_, unit)| unit.is_empty() || unit == "%")
        }),
        Color | FillColor => is_colour(value),
        BackgroundImage => value == PICTURE || value == "none",
        Background => {
            value == PICTURE
                || is_colour(value)
                || value
                    .split([' ', ',', '/'])
                    .all(|part| part.is_empty() || BACKGROUND_WORDS.contains(&part) || is_length(part))
        }
        BackgroundClip => value.split(',').all(|it| BACKGROUND_WORDS.contains(&it.trim())),
        Overflow => words_are(&["visible", "hidden", "clip", "scroll", "auto", "overlay"]),
        Position => ["static", "relative", "absolute", "fixed", "sticky", "-webkit-sticky"].contains(&value),
        Float => ["left", "right", "none", "inline-start", "inline-end"].contains(&value),
        FlexGrow => number_and_unit(value).is_some_and(|(part, unit)| part >= 0.0 && unit.is_empty()),
        FlexDirection => ["row", "row-reverse", "column", "column-reverse"].contains(&value),
        Clip => value == "auto" || value.starts_with("rect("),
        ClipPath => {
            let shapes = ["inset", "circle", "ellipse", "polygon", "path", "shape", "rect", "xywh", "url"];
            ["none", UNREAD].contains(&value)
                || starts_with_function(value, &shapes)
                || value.ends_with("-box")
        }
        Filter => ["none", UNREAD].contains(&value) || starts_with_function(value, &FILTER_FUNCTIONS),
        Transform => {
            let functions = ["matrix", "translate", "scale", "rotate", "skew", "perspective"];
            ["none", UNREAD].contains(&value)
                || functions.iter().any(|it| value.starts_with(it) && value.contains('('))
        }
        FontSize | Width | Height | MaxWidth | MaxHeight | MinWidth | MinHeight | PaddingLeft
        | PaddingRight | PaddingTop | PaddingBottom => {
            // What is calculated becomes zero.
            let is_positive = |(size, _)| size >= 0.0 || value.starts_with("calc(");
            is_length(value) && number_and_unit(value).is_none_or(is_positive)
        }
        LetterSpacing | TextIndent | Left | Right | Top | Bottom | MarginLeft | MarginRight | MarginTop
        | MarginBottom | Translate => value_components(value).all(is_length),
    }
}

fn is_length(part: &str) -> bool {
    let functions = ["calc", "min", "max", "clamp", "env", "fit-content", "anchor", "anchor-size"];
    match number_and_unit(part) {
        // Without a unit, a page without a document type takes it.
        Some((size, "")) => size == 0.0 || is_far_away(part, Axis::Horizontal),
        Some((_, unit)) => UNITS.contains(&unit) || starts_with_function(part, &functions),
        None => LENGTH_WORDS.contains(&part) || part == UNREAD || starts_with_function(part, &functions),
    }
}

fn is_colour(value: &str) -> bool {
    const FUNCTIONS: [&str; 13] = [
        "rgb",
        "rgba",
        "hsl",
        "hsla",
        "hwb",
        "lab",
        "lch",
        "oklab",
        "oklch",
        "color",
        "color-mix",
        "light-dark",
        "device-cmyk",
    ];
    canonical_colour(value).is_some()
        || is_transparent(value)
        || value == "currentcolor"
        || is_colour_name(value)
        || starts_with_function(value, &FUNCTIONS)
}

fn starts_with_function(value: &str, names: &[&str]) -> bool {
    value.ends_with(')') && value.split_once('(').is_some_and(|(name, _)| names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::{Property, is_valid_value};

    #[test]
    fn a_property_takes_the_values_that_a_browser_takes() {
        use Property::*;
        for (property, valid, invalid) in [
            (Display, &["none", "inline flex", "inherit", "var(--x)"][..], &["gone", "none gone"][..]),
            (Visibility, &["hidden", "collapse"], &["none", "hidden hidden"]),
            (ContentVisibility, &["auto", "hidden"], &["none"]),
            (Opacity, &["0", "10%", "calc(1 - 1)"], &["0px", "none0", "rgb(0)"]),
            (Color, &["red", "#fff", "rgb(1 2 3)", "currentcolor"], &["reddish", "1px"]),
            (BackgroundImage, &["none"], &["red"]),
            (Background, &["red", "no-repeat 0 0 / 10px"], &["no-repeating"]),
            (Overflow, &["hidden", "auto clip"], &["none"]),
            (Position, &["absolute", "-webkit-sticky"], &["left"]),
            (Float, &["left", "inline-end"], &["middle"]),
            (FlexGrow, &["0", "1.5"], &["-1", "1px"]),
            (FlexDirection, &["row-reverse"], &["left"]),
            (Clip, &["auto", "rect(0 0 0 0)"], &["none", "inset(0)"]),
            (ClipPath, &["none", "inset(50%)", "border-box"], &["auto", "rotate(1deg)"]),
            (Filter, &["none", "opacity(0)"], &["auto", "scale(0)"]),
            (Transform, &["none", "scalex(0)", "translate(1px)"], &["auto", "opacity(0)", "scale"]),
            (Width, &["0", "1px", "auto", "calc(1px - 2px)"], &["-1px", "1", "red"]),
            (Left, &["-1px", "auto", "0"], &["1", "red"]),
        ] {
            for value in valid {
                assert!(is_valid_value(property, value), "{property:?}: {value}");
            }
            for value in invalid {
                assert!(!is_valid_value(property, value), "{property:?}: {value}");
            }
        }
    }
}
