//! JSON of careless servers.

use serde_json::{Value, json};

use crate::client::transport::json::parse_lenient_json;

#[track_caller]
fn check(text: &str, expected: Value) {
    assert_eq!(parse_lenient_json(text.as_bytes()).unwrap(), expected, "{text}");
}

#[test]
fn numbers_that_json_does_not_have_are_null() {
    for number in ["NaN", "Infinity", "-Infinity", "-NaN", "1e999", "-1e+999", "1.5e999"] {
        check(&format!("[{number}]"), json!([null]));
    }
    check("[1.5e+3,NaN,true,null,-2,1e-5,false]", json!([1500.0, null, true, null, -2, 1e-5, false]));
    check("{ \"a\" : NaN ,\n\t\"b\" : 7 }", json!({ "a": null, "b": 7 }));
}

#[test]
fn texts_stay_as_they_are_beside_what_is_corrected() {
    check(r#"["NaN 1e999",NaN]"#, json!(["NaN 1e999", null]));
    check(r#"["a\"NaN",NaN]"#, json!(["a\"NaN", null]));
    check(r#"["\\",NaN,"\\\"",NaN]"#, json!(["\\", null, "\\\"", null]));
    check(r#"["\u0041\n\/ä",NaN]"#, json!(["A\n/ä", null]));
}

#[test]
fn a_half_of_a_surrogate_pair_is_replaced() {
    for (text, expected) in [
        (r"\ud83d\ude00", "😀"),
        (r"\ud83d", "\u{fffd}"),
        (r"\ude00x", "\u{fffd}x"),
        (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
        (r"\ud83d\u0041", "\u{fffd}A"),
        (r"\ud83dab", "\u{fffd}ab"),
        (r"\ud800\udc00\udbff\udfff", "\u{10000}\u{10ffff}"),
        (r"\ud7ff\ue000", "\u{d7ff}\u{e000}"),
        (r"\udfff\udbff", "\u{fffd}\u{fffd}"),
    ] {
        check(&format!("[\"{text}\",NaN]"), json!([expected, null]));
    }
}

#[test]
fn control_characters_and_bytes_are_texts() {
    check("[\"a\nb\tc\u{1}d\u{7f}\"]", json!(["a\nb\tc\u{1}d\u{7f}"]));
    assert_eq!(parse_lenient_json(b"[\"a\xffb\"]").unwrap(), json!(["a\u{fffd}b"]));
}

#[test]
fn what_is_no_json_is_an_error_about_the_text_as_it_came() {
    for text in
        ["", "[", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\ä\"", "\"\\ud83d\\", "\"\\ud83d\\ä\"", "word", "[1 2]"]
    {
        assert!(parse_lenient_json(text.as_bytes()).is_err(), "{text}");
    }
    // The first mistake is the number, and not the end.
    let error = parse_lenient_json(b"[NaN").unwrap_err();
    assert!(!error.is_eof(), "{error}");
}
