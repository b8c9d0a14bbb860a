//! Numbers in reports, spelled as they were received.
//!
//! A report is made from values, in which `1.10` is 1.1 and `12345678901234567890123` a float. The model compares it with
//! the text that it wrote.

use super::{
    ExactValue,
    plan::{Correction, CorrectionRule},
    violation::{Violations, shorten_at_end},
};
use crate::pointer::pointer_steps;

/// Shows the received numbers of `violations` as they are spelled in `text`.
pub(crate) fn restore_number_spelling_in_violations(violations: &mut Violations, text: &str) {
    if !violations.iter().any(|violation| starts_like_number(&violation.received)) {
        return;
    }
    let Some(arguments) = ExactValue::read(text) else { return };
    for violation in violations.iter_mut() {
        if let Some(number) = number_spelling_at(&arguments, &violation.pointer, &violation.received) {
            violation.received = shorten_at_end(number.to_owned());
        }
    }
}

/// Shows the numbers of `corrections` of `text` as they are spelled in it.
pub(in crate::arguments) fn restore_number_spelling_in_corrections(
    corrections: &mut [Correction],
    text: &str,
) {
    let is_shown = |it: &Correction| starts_like_number(&it.from) || starts_like_number(&it.to);
    if !corrections.iter().any(is_shown) {
        return;
    }
    let Some(arguments) = ExactValue::read(text) else { return };
    for correction in corrections {
        if let Some(number) = number_spelling_at(&arguments, &correction.pointer, &correction.from) {
            let number = shorten_at_end(number.to_owned());
            if correction.rule == CorrectionRule::ToList {
                correction.to = format!("[{number}]");
            }
            correction.from = number;
        }
        let received =
            (correction.rule == CorrectionRule::ToNumber).then(|| unquoted_text(&correction.from)).flatten();
        // An integer is shown as such: `"3.0"` becomes 3.
        if let Some(number) = received.filter(|it| is_same_float(it, &correction.to))
            && correction.to.contains(['.', 'e'])
        {
            correction.to = number;
        }
    }
}

fn starts_like_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Returns the content of a shown string.
fn unquoted_text(literal: &str) -> Option<String> {
    serde_json::from_str::<String>(literal).ok().map(|text| text.trim().to_owned())
}

/// Returns the spelling of the number at `pointer`, if it is the number that is shown as `shown`.
fn number_spelling_at<'v>(arguments: &'v ExactValue<'_>, pointer: &str, received: &str) -> Option<&'v str> {
    if !starts_like_number(received) {
        return None;
    }
    let steps = pointer_steps(pointer)?;
    let value = steps.iter().try_fold(arguments, |value, step| match value {
        ExactValue::List(items) => items.get(step.parse::<usize>().ok()?),
        object => object.get(step),
    })?;
    match value {
        ExactValue::Number(number) if is_same_float(number, received) => Some(number),
        _ => None,
    }
}

/// Returns `true` if both texts are read as the same float.
fn is_same_float(left: &str, right: &str) -> bool {
    matches!((left.parse::<f64>(), right.parse::<f64>()), (Ok(left), Ok(right)) if left == right)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use crate::{Arguments, Plan};

    fn plan() -> Plan {
        let schema = json!({ "type": "object", "properties": {
            "text": { "type": "string", "maxLength": 3 }, "list": { "type": "array", "items": { "type": "number" } },
            "small": { "type": "number", "maximum": 1 }, "integer": { "type": "integer" }, "number": { "type": "number" },
            "free": { "type": "string" },
        } });
        Plan::compile(&schema).unwrap()
    }

    #[test]
    fn violations_show_numbers_as_received() {
        for number in ["1.10", "1e3", "12345678901234567890123", "2.50E+1", "1234567890.1234567890123"] {
            for (text, at) in [
                (format!(r#"{{"small":{number}}}"#), 0),
                (format!(r#"{{"text":{number}}}"#), 0),
                (format!(r#"{{"integer":[],"list":[1,"x",{number},true],"small":{number}}}"#), 3),
            ] {
                let error = plan().fit(Arguments::from(text.clone())).unwrap_err();
                let received = &error.violations()[at].received;
                assert_eq!(received, number, "{text}: {:?}", error.violations());
            }
        }
    }

    #[test]
    fn corrections_show_numbers_as_received() {
        let corrected = |text: String| {
            let fitting = plan().fit(Arguments::from(text).lenient(true)).unwrap();
            fitting.corrections()[0].to_string()
        };
        for (number, digits) in
            [("1.10", "1.10"), ("1e3", "1000"), ("12345678901234567890123", "12345678901234567890123")]
        {
            assert_eq!(
                corrected(format!(r#"{{"free":{number}}}"#)),
                format!(r#"/free: read {number} as "{digits}""#)
            );
            assert_eq!(
                corrected(format!(r#"{{"list":{number}}}"#)),
                format!("/list: read {number} as [{number}]")
            );
        }
        assert_eq!(corrected(r#"{"number":"1.10"}"#.to_owned()), r#"/number: read "1.10" as 1.10"#);
        assert_eq!(corrected(r#"{"integer":"3.0"}"#.to_owned()), r#"/integer: read "3.0" as 3"#);
    }
}
