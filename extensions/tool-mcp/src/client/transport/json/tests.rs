#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;

use super::*;

#[test]
fn json_of_other_serializers_is_corrected_outside_and_within_texts() {
    for (text, expected) in [
        (
            r#"{"a":NaN,"b":-Infinity,"c":1e999,"d":[Infinity]}"#,
            json!({ "a": null, "b": null, "c": null, "d": [null] }),
        ),
        (r#"{"NaN":"NaN Infinity","a":NaN}"#, json!({ "NaN": "NaN Infinity", "a": null })),
        (r#"{"a":"\" NaN","b":NaN}"#, json!({ "a": "\" NaN", "b": null })),
        (r#"{"a":"\\","b":NaN}"#, json!({ "a": "\\", "b": null })),
        (r#"{"a":"\ud83d\ude00","b":NaN}"#, json!({ "a": "\u{1f600}", "b": null })),
        (r#"{"a":"x\ud83dy"}"#, json!({ "a": "x\u{fffd}y" })),
        (r#"{"a":"\ude00\ud83d"}"#, json!({ "a": "\u{fffd}\u{fffd}" })),
        (r#"{"a":"\ud83d\u0041"}"#, json!({ "a": "\u{fffd}A" })),
        (r#"{"a":"\ud83d\ud83d\ude00"}"#, json!({ "a": "\u{fffd}\u{1f600}" })),
        (r#"{"a":"\u00e9","b":NaN}"#, json!({ "a": "é", "b": null })),
        ("{\"a\":\"x\ty\u{7}\n\"}", json!({ "a": "x\ty\u{7}\n" })),
        ("{\t\"a\" : [1.5e3, -2, true, null, NaN]\n}", json!({ "a": [1500.0, -2, true, null, null] })),
        (r#"{"a":1}"#, json!({ "a": 1 })),
    ] {
        assert_eq!(parse_lenient_json(text.as_bytes()).unwrap(), expected, "{text}");
    }
    assert_eq!(parse_lenient_json(b"{\"a\":\"x\xff\"}").unwrap(), json!({ "a": "x\u{fffd}" }));
}

#[test]
fn text_that_is_no_json_keeps_its_first_error() {
    for text in [r#"{"a":nan0}"#, r#"{"a":"\x"}"#, r#"{"a":undefined}"#, "{", r#"{"a":"\"#, ""] {
        let expected = serde_json::from_str::<Value>(text).unwrap_err().to_string();
        assert_eq!(parse_lenient_json(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
    }
}
