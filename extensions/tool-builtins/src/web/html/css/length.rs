//! Numbers and lengths in values, as far as they can be read exactly.

use super::media::{EM, HEIGHT, WIDTH};

/// Parts of a whole below which nothing is seen.
const MIN_VISIBLE_PART: f64 = 0.05;

/// Returns a number and its unit; `None` for anything else, such as a sum.
pub(super) fn number_and_unit(value: &str) -> Option<(f64, &str)> {
    let value = value.strip_prefix("calc(").and_then(|it| it.strip_suffix(')')).unwrap_or(value);
    let is_part = |it: char| it.is_ascii_digit() || matches!(it, '.' | '-' | '+');
    let (number, unit) = value.split_at_checked(value.find(|it| !is_part(it)).unwrap_or(value.len()))?;
    let is_unit = unit == "%" || unit.bytes().all(|it| it.is_ascii_alphabetic());
    Some((number.parse().ok()?, unit)).filter(|_| is_unit)
}

/// Returns a number or a percentage as a part of the whole.
pub(super) fn parse_fraction(value: &str) -> Option<f64> {
    match number_and_unit(value)? {
        (number, "") => Some(number),
        (number, "%") => Some(number / 100.0),
        _ => None,
    }
}

pub(super) fn is_invisible_fraction(value: &str) -> bool {
    parse_fraction(value).is_some_and(|it| it < MIN_VISIBLE_PART)
}

/// Returns `true` for a factor that leaves nothing; a negative one mirrors.
pub(super) fn is_zero_scale(value: &str) -> bool {
    parse_fraction(value).is_some_and(|it| it.abs() < MIN_VISIBLE_PART)
}

/// The direction of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    Horizontal,
    Vertical,
}

impl Axis {
    /// Pixels of the window.
    fn window_pixels(self) -> f64 {
        match self {
            Self::Horizontal => WIDTH,
            Self::Vertical => HEIGHT,
        }
    }
}

/// A length, in pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CssLength {
    /// The part that is the same in each window.
    pub(super) absolute: f64,
    /// The part that depends on the window, in one of a computer.
    pub(super) relative: f64,
}

impl CssLength {
    /// Returns the length of a value; nothing for one that is not set, and `None` for one that cannot be read exactly.
    pub(super) fn parse(value: &str, axis: Axis) -> Option<Self> {
        if matches!(value, "" | "auto" | "none" | "normal" | "initial" | "unset" | "revert") {
            return Some(Self::default());
        }
        let (number, unit) = number_and_unit(value)?;
        let absolute = |pixels: f64| Some(Self { absolute: number * pixels, relative: 0.0 });
        let relative = |whole: f64| Some(Self { absolute: 0.0, relative: number / 100.0 * whole });
        match unit {
            "" | "px" => absolute(1.0),
            "pt" => absolute(96.0 / 72.0),
            "pc" | "em" | "rem" | "ic" | "cap" | "lh" | "rlh" => absolute(EM),
            "ex" | "ch" => absolute(EM / 2.0),
            "in" => absolute(96.0),
            "cm" => absolute(96.0 / 2.54),
            "mm" => absolute(9.6 / 2.54),
            "q" => absolute(2.4 / 2.54),
            "%" => relative(axis.window_pixels()),
            "vw" | "svw" | "lvw" | "dvw" | "vi" | "vmax" | "cqw" | "cqi" | "cqmax" => relative(WIDTH),
            "vh" | "svh" | "lvh" | "dvh" | "vb" | "vmin" | "cqh" | "cqb" | "cqmin" => relative(HEIGHT),
            _ => None,
        }
    }

    /// Returns the sum of values; `None` if one of them cannot be read exactly.
    pub(super) fn sum<'v>(values: impl IntoIterator<Item = &'v str>, axis: Axis) -> Option<Self> {
        values.into_iter().try_fold(Self::default(), |sum, value| {
            let Self { absolute, relative } = Self::parse(value, axis)?;
            Some(Self { absolute: sum.absolute + absolute, relative: sum.relative + relative })
        })
    }

    pub(super) fn pixels(self) -> f64 {
        self.absolute + self.relative
    }

    /// Returns `true` if nothing that is moved so far is in the window: before its start, or far behind its end.
    pub(super) fn is_far_away(self, axis: Axis) -> bool {
        let start = if self.relative == 0.0 { -500.0 } else { -axis.window_pixels() };
        self.pixels() <= start || self.absolute >= 3000.0
    }

    /// Returns `true` for a size of at most one point; one that is calculated may be less than nothing.
    pub(super) fn is_point(self) -> bool {
        self.absolute <= 1.0 && self.relative < 0.05
    }
}

/// Returns `true` for a value that moves something out of the window.
pub(super) fn is_far_away(value: &str, axis: Axis) -> bool {
    CssLength::parse(value, axis).is_some_and(|it| it.is_far_away(axis))
}

/// Returns the pixels of a font; `around` are those of the text around it. `None` if they are not known.
pub(super) fn font_pixels(value: &str, around: Option<f64>) -> Option<f64> {
    let Some((number, unit)) = number_and_unit(value) else {
        return match value {
            "smaller" => around.map(|it| it / 1.2),
            "larger" => around.map(|it| it * 1.2),
            word if word.bytes().all(|it| it.is_ascii_alphabetic() || it == b'-') => Some(EM),
            _ => None,
        };
    };
    match unit {
        "em" | "ic" | "cap" | "lh" => around.map(|it| it * number),
        "ex" | "ch" => around.map(|it| it * number / 2.0),
        "%" => around.map(|it| it * number / 100.0),
        _ => CssLength::parse(value, Axis::Vertical).map(CssLength::pixels),
    }
}

/// Returns the functions of a value with their arguments.
pub(super) fn functions_and_arguments(value: &str) -> Vec<(&str, &str)> {
    let mut functions = Vec::new();
    let (mut depth, mut start, mut opening) = (0_usize, 0, 0);
    for (index, character) in value.char_indices() {
        match character {
            '(' => {
                if depth == 0 {
                    opening = index;
                }
                depth += 1;
            }
            ')' => {
                let Some(around) = depth.checked_sub(1) else { continue };
                depth = around;
                if let (0, Some(name), Some(arguments)) =
                    (depth, value.get(start..opening), value.get(opening + 1..index))
                {
                    functions.push((name.trim(), arguments.trim()));
                    start = index + 1;
                }
            }
            _ => {}
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_parts_of_a_sum_are_not_read() {
        for (value, expected) in [
            ("0", Some((0.0, ""))),
            ("-1.5px", Some((-1.5, "px"))),
            ("50%", Some((50.0, "%"))),
            ("calc(0px)", Some((0.0, "px"))),
            ("calc(0px + 100%)", None),
            ("calc(0px+1px)", None),
            ("max(0px,1px)", None),
            ("0 at 50%", None),
            ("px", None),
            ("", None),
        ] {
            assert_eq!(number_and_unit(value), expected, "{value}");
        }
    }

    #[test]
    fn lengths_are_compared_in_pixels() {
        let is_point = |value| CssLength::parse(value, Axis::Vertical).is_some_and(CssLength::is_point);
        assert!(["0", "1px", "0.5px", "0.01em", "0.25mm", "0%", "0vw"].into_iter().all(is_point));
        assert!(!["1in", "0.04in", "1vw", "1%", "1em", "2px", "calc(0px + 1em)"].into_iter().any(is_point));
        for far in ["-500px", "-6in", "-40em", "3000px", "-100vw", "-100%", "-14cm"] {
            assert!(is_far_away(far, Axis::Horizontal), "{far}");
        }
        for near in ["-499px", "-50vw", "-99%", "300%", "100vw", "calc(-9999px + 100%)", "-9999deg"] {
            assert!(!is_far_away(near, Axis::Horizontal), "{near}");
        }
    }

    #[test]
    fn functions_are_found_with_and_without_blanks_between_them() {
        assert_eq!(functions_and_arguments("a(1)b(c(2),3) d()"), [("a", "1"), ("b", "c(2),3"), ("d", "")]);
        assert_eq!(functions_and_arguments("a(b(1)c(2))d(3)"), [("a", "b(1)c(2)"), ("d", "3")]);
        assert_eq!(functions_and_arguments("none"), []);
        assert_eq!(functions_and_arguments("a)b(c"), []);
    }
}
