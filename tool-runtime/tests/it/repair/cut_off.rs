//! F21, CF14: texts that end too early, told apart from those that are merely malformed.

use super::{partial, repaired};

fn check(pairs: &[(&str, &str)]) {
    for (text, expected) in pairs {
        assert_eq!(partial(text), *expected, "{text:?}");
    }
}

#[test]
fn a_string_ends_where_the_text_does() {
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
fn an_escape_that_is_not_whole_is_left_out() {
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
fn a_key_without_a_value_is_left_out() {
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
fn a_literal_that_is_not_whole_is_left_out() {
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
fn a_number_keeps_the_digits_that_came() {
    check(&[
        (r#"{"a":12"#, r#"{"a":12}"#),
        (r#"{"a":2."#, r#"{"a":2}"#),
        (r#"{"a":2.5e"#, r#"{"a":2.5}"#),
        (r#"{"a":2e-"#, r#"{"a":2}"#),
        (r#"{"a":[1,-"#, r#"{"a":[1]}"#),
    ]);
}

#[test]
fn what_is_open_is_closed() {
    check(&[
        (r#"{"a": 1"#, r#"{"a":1}"#),
        (r#"{"a":[1,2"#, r#"{"a":[1,2]}"#),
        (r#"{"a":{"b":[{"c":1"#, r#"{"a":{"b":[{"c":1}]}}"#),
        (r#"{"a":{"b":1}"#, r#"{"a":{"b":1}}"#),
    ]);
}

#[test]
fn what_is_malformed_before_is_repaired() {
    check(&[
        ("{a: 1, 'b': [1 2", r#"{"a":1,"b":[1,2]}"#),
        ("```json\n{\"a\": True, \"b", r#"{"a":true}"#),
        ("Here is the call: search({a: 'x', ", r#"{"a":"x"}"#),
        ("{\"a\": 1 // one", r#"{"a":1}"#),
        (r#"{"a":{"b":[1,2}, "c": [3"#, r#"{"a":{"b":[1,2]},"c":[3]}"#),
    ]);
}

#[test]
fn a_whole_object_is_not_cut_off_by_what_is_missing_around_it() {
    assert_eq!(repaired("```json\n{\"a\":1}"), r#"{"a":1}"#);
    assert_eq!(repaired("search({\"a\":1}"), r#"{"a":1}"#);
    assert_eq!(repaired(r#"{"a":[1,2}"#), r#"{"a":[1,2]}"#);
}
