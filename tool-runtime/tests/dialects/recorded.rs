//! Responses from the tests of public packages, most of them recorded from the provider, and requests of the official
//! MCP clients. Each names its source; `recorded/collect.py` collects them with the expected calls.

use serde_json::Value;
use tool_runtime::dialect::Dialect;

use super::{assembled, bound, cut_off, told, whole};

struct Recorded {
    dialect: Dialect,
    name: String,
    of: Value,
    expected: Vec<(String, String, String)>,
}

fn of(dialect: Dialect, text: &str) -> Vec<Recorded> {
    let entries: Vec<Value> = serde_json::from_str(text).unwrap();
    let recorded = |of: Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let calls = of["calls"].as_array().unwrap().iter();
        Recorded {
            dialect: dialect.clone(),
            name: format!("{}: {}", dialect.name(), text(&of["name"])),
            expected: calls.map(|call| (text(&call[0]), text(&call[1]), text(&call[2]))).collect(),
            of,
        }
    };
    entries.into_iter().map(recorded).collect()
}

fn all() -> Vec<Recorded> {
    [
        of(Dialect::openai_chat(), include_str!("recorded/openai-chat.json")),
        of(Dialect::openai_responses(), include_str!("recorded/openai-responses.json")),
        of(Dialect::anthropic(), include_str!("recorded/anthropic.json")),
        of(Dialect::gemini(), include_str!("recorded/gemini.json")),
        of(Dialect::mcp(), include_str!("recorded/mcp.json")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns all recordings: the dialect, a name, and the response or its events.
pub(super) fn entries() -> Vec<(Dialect, String, Value)> {
    all().into_iter().map(|it| (it.dialect, it.name, it.of)).collect()
}

/// Compares calls, except generated ids.
fn same(got: Vec<(String, String, String)>, expected: &[(String, String, String)], name: &str) {
    assert_eq!(got.len(), expected.len(), "{name}: {got:?}");
    for ((id, tool, arguments), (own_id, own_tool, own_arguments)) in got.iter().zip(expected) {
        assert!(own_id.is_empty() || id == own_id, "{name}: {id} is not {own_id}");
        assert_eq!((tool, arguments), (own_tool, own_arguments), "{name}");
    }
}

#[test]
fn recorded_responses_have_the_expected_calls() {
    let mut counted = 0;
    for Recorded { dialect, name, of, expected } in all() {
        let Some(response) = of.get("response") else { continue };
        let calls = bound(&dialect).calls(response).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(
            calls.iter().any(|call| call.id.is_generated()),
            expected.iter().any(|it| it.0.is_empty())
        );
        same(told(&calls), &expected, &name);
        counted += 1;
    }
    assert!(counted >= 25, "{counted}");
}

#[test]
fn recorded_streams_have_the_expected_complete_and_incomplete_calls() {
    let mut counted = 0;
    for Recorded { dialect, name, of, expected } in all() {
        let Some(Value::Array(events)) = of.get("events") else { continue };
        let done = assembled(&dialect, events);
        assert!(done.ended, "{name}");
        let (uncut, cut) = (whole(&done.calls), cut_off(&done.calls));
        let (got, none) = if name.ends_with("cut off") { (cut, uncut) } else { (uncut, cut) };
        same(got, &expected, &name);
        assert!(none.is_empty(), "{name}: {none:?}");
        counted += 1;
    }
    assert!(counted >= 20, "{counted}");
}

#[test]
fn every_recorded_response_names_its_source() {
    for Recorded { name, of, .. } in all() {
        for key in ["package", "version", "licence", "file"] {
            assert!(of["source"][key].as_str().is_some_and(|text| !text.is_empty()), "{name}: {key}");
        }
    }
}
