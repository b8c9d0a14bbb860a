//! The texts of changes since tools were pinned.

use serde_json::json;
use tool_runtime::pin::Pins;

use super::pins::{change_report, definition, forecast, ping, registry, with_schema};

#[test]
fn a_value_is_shown_on_one_line_of_at_most_ninety_characters() {
    let described = |length: usize| definition("ping", &"x".repeat(length), json!({ "type": "object" }));
    let changed = |length: usize| change_report(&ping(), &described(length));
    let (short, long) = ("x".repeat(75), "x".repeat(76));
    assert_eq!(changed(75), format!("ping: changed\n  description\n    \"Answers.\" → \"{short}\""));
    assert_eq!(changed(76), format!("ping: changed\n  description\n    - Answers.\n    + {long}"));
    let added = |length: usize| {
        let changes = Pins::of(&registry([])).check(&registry([described(length)]));
        changes[0].to_string().lines().nth(2).unwrap().to_owned()
    };
    assert_eq!(added(88), format!("    \"{}\"", "x".repeat(88)));
    assert_eq!(added(89), format!("    + {}", "x".repeat(89)));
}

#[test]
fn items_of_a_list_are_compared_in_pairs_if_one_list_has_objects() {
    let listed = with_schema(|schema| schema["properties"]["unit"]["enum"] = json!([{ "unit": "C" }, "F"]));
    let report =
        |change: &str| format!("forecast: changed\n  input schema\n    /properties/unit/enum/0: {change}");
    assert_eq!(change_report(&forecast(), &listed), report("\"C\" → {\"unit\":\"C\"}"));
    assert_eq!(change_report(&listed, &forecast()), report("{\"unit\":\"C\"} → \"C\""));
}
