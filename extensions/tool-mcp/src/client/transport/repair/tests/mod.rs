//! Results with mistakes: what is read of them, and the problems that are named.

#![allow(clippy::unwrap_used, reason = "tests")]

mod call;
mod handshake;
mod prompts_and_resources;

use rmcp::model::ErrorCode;

use super::*;

/// A result that can be used, as JSON without its type, with its problems.
fn read(repaired: RepairedResult) -> (Value, Vec<String>) {
    assert_eq!((repaired.failure, repaired.error), (None, None));
    let mut result = serde_json::to_value(repaired.result).unwrap();
    if let Some(members) = result.as_object_mut() {
        members.remove("resultType");
    }
    (result, repaired.problems)
}

/// The code and the text of the error that stands for a result.
fn error(repaired: RepairedResult) -> (ErrorCode, String) {
    assert_eq!((repaired.failure, repaired.problems), (None, Vec::new()));
    let error = repaired.error.unwrap();
    (error.code, error.message.into_owned())
}

/// Checks what is read of a result, and the problems.
#[track_caller]
fn check(repair: fn(Value) -> RepairedResult, result: &Value, expected: &Value, problems: &[&str]) {
    let (read, named) = read(repair(result.clone()));
    assert_eq!((&read, named), (expected, problems.iter().map(|it| (*it).to_owned()).collect()), "{result}");
}

#[test]
fn a_result_of_which_nothing_is_required_is_an_object() {
    check(other_result, &json!({ "a": 1 }), &json!({ "a": 1 }), &[]);
    check(other_result, &Value::Null, &json!({}), &["the result is `null`"]);
    check(other_result, &json!([1]), &json!([1]), &["the result is no object"]);
    check(other_result, &json!("ok"), &json!("ok"), &["the result is no object"]);
}

#[test]
fn a_page_stays_as_it_is() {
    let page = json!({ "tools": [7], "nextCursor": 7 });
    assert!(matches!(unrepaired_page_result(page.clone()).result, ServerResult::CustomResult(_)));
    check(unrepaired_page_result, &page, &page, &[]);
    check(unrepaired_page_result, &json!([1]), &json!([1]), &["the result is no object"]);
}

#[test]
fn a_problem_is_named_once_and_the_first_twenty_are() {
    let mut problems = Vec::new();
    for number in 0..MAX_PROBLEMS + 5 {
        add_problem(&mut problems, &format!("problem {number}"));
        add_problem(&mut problems, &format!("problem {number}"));
    }
    let first: Vec<_> = (0..MAX_PROBLEMS).map(|number| format!("problem {number}")).collect();
    assert_eq!(problems, first);
}

#[test]
fn a_long_text_is_shortened_at_a_character() {
    assert_eq!(bounded_text(&"ä".repeat(60)), "ä".repeat(60));
    assert_eq!(bounded_text(&"ä".repeat(61)), "ä".repeat(60));
    // Two of the characters are quotes.
    let whole = Value::String("ä".repeat(MAX_BLOCK_CHARS - 2));
    assert_eq!(bounded_json_text(&whole), whole.to_string());
    let long = Value::String("ä".repeat(MAX_BLOCK_CHARS));
    let cut = format!("\"{}… (3 bytes more)", "ä".repeat(MAX_BLOCK_CHARS - 1));
    assert_eq!(bounded_json_text(&long), cut);
}
