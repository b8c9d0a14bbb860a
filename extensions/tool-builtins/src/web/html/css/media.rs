//! Conditions of a style sheet on the screen: those of a window of a computer.

use super::declaration::value_components;

/// The size of the window, in pixels.
pub(super) const WIDTH: f64 = 1280.0;
pub(super) const HEIGHT: f64 = 800.0;

/// Pixels of an `em`.
pub(super) const EM: f64 = 16.0;

/// Levels of conditions inside of others; what is below them is taken as true.
const MAX_DEPTH: usize = 8;

/// Returns `true` if a list of media queries, in small letters and with single blanks, is about the screen of a computer.
///
/// A feature that is not known is taken as present: what its rules hide may be hidden.
pub(super) fn is_for_screen(queries: &str) -> bool {
    let queries = queries.trim();
    queries.is_empty() || queries.split(',').any(|query| is_query_true(query.trim(), 0))
}

fn is_query_true(query: &str, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let words: Vec<&str> = value_components(query).collect();
    match &words[..] {
        ["not", rest @ ..] => depth == MAX_DEPTH || !is_disjunction_true(rest, depth + 1),
        ["only", rest @ ..] => is_disjunction_true(rest, depth),
        all => is_disjunction_true(all, depth),
    }
}

/// Judges conditions between `or` and `and`; parentheses are one word with all in them.
fn is_disjunction_true(words: &[&str], depth: usize) -> bool {
    let mut parts = words.split(|word| *word == "or");
    parts.any(|part| part.split(|word| *word == "and").all(|condition| is_condition_true(condition, depth)))
}

fn is_condition_true(words: &[&str], depth: usize) -> bool {
    let condition = match words {
        ["not", rest @ ..] => return depth >= MAX_DEPTH || !is_condition_true(rest, depth + 1),
        [condition] => *condition,
        _ => return true,
    };
    let Some(feature) = condition.strip_prefix('(').and_then(|it| it.strip_suffix(')')) else {
        return !matches!(
            condition,
            "print" | "speech" | "aural" | "braille" | "embossed" | "handheld" | "projection" | "tty" | "tv"
        );
    };
    let feature = feature.trim();
    if feature.starts_with('(') || feature.starts_with("not ") {
        return is_query_true(feature, depth + 1);
    }
    match feature.split_once(':') {
        Some((name, value)) => is_feature_true(name.trim(), value.trim()),
        None => is_range_true(feature),
    }
}

fn is_feature_true(name: &str, value: &str) -> bool {
    let (bound, feature) = match name.split_once('-') {
        Some((bound @ ("min" | "max"), feature)) => (bound, feature),
        _ => ("", name),
    };
    let size = match feature {
        "width" | "device-width" => WIDTH,
        "height" | "device-height" => HEIGHT,
        _ => {
            return match (name, value) {
                ("orientation", value) => value == "landscape",
                ("prefers-color-scheme", value) => value == "light",
                ("prefers-reduced-motion" | "prefers-contrast" | "prefers-reduced-transparency", value) => {
                    value == "no-preference"
                }
                ("hover" | "any-hover", value) => value == "hover",
                ("pointer" | "any-pointer", value) => value == "fine",
                ("scripting", value) => value == "enabled",
                ("forced-colors" | "inverted-colors", value) => value == "none",
                ("display-mode", value) => value == "browser",
                ("update", value) => value == "fast",
                _ => true,
            };
        }
    };
    let Some(limit) = parse_pixels(value) else { return true };
    match bound {
        "min" => size >= limit,
        "max" => size <= limit,
        _ => size == limit,
    }
}

/// `width >= 40em`, `40em <= width` or `40em < width <= 90em`.
fn is_range_true(feature: &str) -> bool {
    let feature = feature.replace(' ', "");
    let mut operands = vec![String::new()];
    let mut operators = Vec::new();
    for character in feature.chars() {
        match (character, operators.last_mut()) {
            ('<' | '>', _) => {
                operators.push(character.to_string());
                operands.push(String::new());
            }
            ('=', Some(operator)) if operands.last().is_some_and(String::is_empty) => operator.push('='),
            _ => operands.last_mut().into_iter().for_each(|it| it.push(character)),
        }
    }
    let number = |operand: &String| match operand.as_str() {
        "width" | "device-width" => Some(WIDTH),
        "height" | "device-height" => Some(HEIGHT),
        value => parse_pixels(value),
    };
    let pairs = operands.iter().zip(operands.iter().skip(1)).zip(&operators);
    pairs.into_iter().all(|((one, other), operator)| {
        let (Some(one), Some(other)) = (number(one), number(other)) else { return true };
        match operator.as_str() {
            "<" => one < other,
            "<=" => one <= other,
            ">" => one > other,
            _ => one >= other,
        }
    })
}

fn parse_pixels(value: &str) -> Option<f64> {
    let value = value.trim();
    let length = |unit: &str| value.strip_suffix(unit).and_then(|it| it.parse::<f64>().ok());
    let number = length("px").or(length("rem").or(length("em")).map(|it| it * EM));
    number.or_else(|| value.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::is_for_screen;

    #[test]
    fn conditions_inside_of_others_without_end_are_taken_as_true() {
        for count in [10, 11, 100_000] {
            assert!(is_for_screen(&format!("{}width<1px{}", "(".repeat(count), ")".repeat(count))));
            assert!(is_for_screen(&format!("all and {}print", "not ".repeat(2 * count))));
        }
        assert!(!is_for_screen("((((width<1px))))"));
    }

    #[test]
    fn queries_are_judged_as_in_a_window_of_a_computer() {
        for (query, expected) in [
            ("", true),
            ("all", true),
            ("screen", true),
            ("only screen and (min-width:600px)", true),
            ("print", false),
            ("print, screen", true),
            ("not print", true),
            ("not all", false),
            ("not screen and (min-width:1px)", false),
            ("only print", false),
            ("not tv", true),
            ("speech, aural, braille, embossed, handheld, projection, tty, tv", false),
            // Of what is not written as it must be, nothing is known.
            ("screen print", true),
            ("(min-width:1281px", true),
            ("(width", true),
            ("(min-width:1280px)", true),
            ("(min-width:1281px)", false),
            ("(max-width:1279px)", false),
            ("(max-width:1280px)", true),
            ("(width:1280px)", true),
            ("(width:1279px)", false),
            ("(device-width:1281px)", false),
            ("(min-height:800px)", true),
            ("(min-height:801px)", false),
            ("(max-device-height:799px)", false),
            ("(height:800)", true),
            ("(max-width:79.9em)", false),
            ("(min-width:80rem)", true),
            ("(min-width:80.1rem)", false),
            ("(min-width:99vw)", true),
            ("(width<1280px)", false),
            ("(width < 1281px)", true),
            ("(width<=1280px)", true),
            ("(width<=1279px)", false),
            ("(width>1280px)", false),
            ("(width > 1279px)", true),
            ("(width>=1280px)", true),
            ("(width>=1281px)", false),
            ("(1280px<width)", false),
            ("(1281px>device-width)", true),
            ("(600px<=width<1281px)", true),
            ("(600px<=width<1280px)", false),
            ("(1281px<=width<1282px)", false),
            ("(700px<height<=800px)", true),
            ("(700px<device-height<800px)", false),
            ("(color>=8)", true),
            ("(min-width:1px) and (max-width:1px)", false),
            ("(min-width:1px) and (min-width:2px)", true),
            ("(max-width:1px) or (max-width:2px)", false),
            ("(max-width:1px) or (min-width:1px)", true),
            ("(max-width:1px) and (color) or (color)", true),
            ("screen and (not (min-width:1px))", false),
            ("(not (max-width:1px))", true),
            ("screen and not (min-width:1px)", false),
            ("screen and not (max-width:1px)", true),
            ("not ((min-width:1px) and (max-width:1px))", true),
            ("not ((min-width:1px) or (max-width:1px))", false),
            ("(color) and ((max-width:1px) or (min-width:1px))", true),
            ("((max-width:1px) or (min-width:1px)) and (max-width:1px)", false),
            ("(orientation:landscape)", true),
            ("(orientation:portrait)", false),
            ("(prefers-color-scheme:light)", true),
            ("(prefers-color-scheme:dark)", false),
            ("(prefers-reduced-motion:no-preference)", true),
            ("(prefers-reduced-motion:reduce)", false),
            ("(prefers-contrast:more)", false),
            ("(prefers-reduced-transparency:reduce)", false),
            ("(hover:hover)", true),
            ("(hover:none)", false),
            ("(any-hover:none)", false),
            ("(pointer:fine)", true),
            ("(pointer:coarse)", false),
            ("(any-pointer:none)", false),
            ("(scripting:enabled)", true),
            ("(scripting:none)", false),
            ("(forced-colors:none)", true),
            ("(forced-colors:active)", false),
            ("(inverted-colors:inverted)", false),
            ("(display-mode:browser)", true),
            ("(display-mode:standalone)", false),
            ("(update:fast)", true),
            ("(update:none)", false),
            ("(min-unknown:1)", true),
            ("(color)", true),
            ("(unknown:1)", true),
        ] {
            assert_eq!(is_for_screen(query), expected, "{query}");
        }
    }
}
