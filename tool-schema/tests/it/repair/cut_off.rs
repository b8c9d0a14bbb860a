//! F21, CF14: truncated texts, as opposed to malformed ones.

use super::{partial, repaired};

fn check(pairs: &[(&str, &str)]) {
    for (text, expected) in pairs {
        assert_eq!(partial(text), *expected, "{text:?}");
    }
}

#[test]
fn an_open_string_ends_with_the_text() {
    check(&[
        (r#"{"city":"Par"#, r#"{"city":"Par"}"#),
        (r#"{"a":"Hello, {world},"#, r#"{"a":"Hello, {world},"}"#),
        (r#"{"a":"She said:"#, r#"{"a":"She said:"}"#),
        (r#"{"a":"f(\"x\");"#, r#"{"a":"f(\"x\");"}"#),
        ("{a: some te", r#"{"a":"some te"}"#),
        (r#"{"a":"b}"#, r#"{"a":"b}"}"#),
        (r#"{"a":"b" +"#, r#"{"a":"b"}"#),
    ]);
}

#[test]
fn a_truncated_escape_is_dropped() {
    check(&[
        (r#"{"a":"x\"#, r#"{"a":"x"}"#),
        (r#"{"a":"x\u"#, r#"{"a":"x"}"#),
        (r#"{"a":"x\u00"#, r#"{"a":"x"}"#),
        (r#"{"a":"x\u0041"#, r#"{"a":"x\u0041"}"#),
        (r#"{"a":"x\ud83d"#, r#"{"a":"x"}"#),
        (r#"{"a":"x\ud83d\"#, r#"{"a":"x"}"#),
        (r#"{"a":"x\ud83d\ude0"#, r#"{"a":"x"}"#),
        (r#"{"a":"x\ud83d\ude00"#, r#"{"a":"x\ud83d\ude00"}"#),
    ]);
}

#[test]
fn a_key_without_a_value_is_dropped() {
    check(&[
        (r#"{"a":1,"#, r#"{"a":1}"#),
        (r#"{"a":1,"b"#, r#"{"a":1}"#),
        (r#"{"a":1,"b""#, r#"{"a":1}"#),
        (r#"{"a":1,"b": "#, r#"{"a":1}"#),
        ("{a: 1, b", r#"{"a":1}"#),
        (r#"{"a":{"b":"#, r#"{"a":{}}"#),
        ("{", "{}"),
    ]);
}

#[test]
fn a_truncated_literal_is_dropped() {
    check(&[
        (r#"{"a":tr"#, "{}"),
        (r#"{"a":[true,nul"#, r#"{"a":[true]}"#),
        ("{a:Fals", "{}"),
        ("{a:-1, b:Na", r#"{"a":-1}"#),
        (r#"{"a":true"#, r#"{"a":true}"#),
    ]);
}

// F19
#[test]
fn a_truncated_number_keeps_its_digits() {
    check(&[
        (r#"{"a":12"#, r#"{"a":12}"#),
        (r#"{"a":2."#, r#"{"a":2}"#),
        (r#"{"a":2.5e"#, r#"{"a":2.5}"#),
        (r#"{"a":2e-"#, r#"{"a":2}"#),
        (r#"{"a":[1,-"#, r#"{"a":[1]}"#),
    ]);
}

#[test]
fn open_lists_and_objects_are_closed() {
    check(&[
        (r#"{"a": 1"#, r#"{"a":1}"#),
        (r#"{"a":[1,2"#, r#"{"a":[1,2]}"#),
        (r#"{"a":{"b":[{"c":1"#, r#"{"a":{"b":[{"c":1}]}}"#),
        (r#"{"a":{"b":1}"#, r#"{"a":{"b":1}}"#),
    ]);
}

#[test]
fn malformed_parts_before_the_truncation_are_repaired() {
    check(&[
        ("{a: 1, 'b': [1 2", r#"{"a":1,"b":[1,2]}"#),
        ("```json\n{\"a\": True, \"b", r#"{"a":true}"#),
        ("Here is the call: search({a: 'x', ", r#"{"a":"x"}"#),
        ("{\"a\": 1 // one", r#"{"a":1}"#),
        (r#"{"a":{"b":[1,2}, "c": [3"#, r#"{"a":{"b":[1,2]},"c":[3]}"#),
    ]);
}

#[test]
fn a_complete_object_in_a_truncated_wrapper_is_complete() {
    assert_eq!(repaired("```json\n{\"a\":1}"), r#"{"a":1}"#);
    assert_eq!(repaired("search({\"a\":1}"), r#"{"a":1}"#);
    assert_eq!(repaired(r#"{"a":[1,2}"#), r#"{"a":[1,2]}"#);
}
