//! Responses do not depend on the size of their events.

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use tool_runtime::dialect::{AssembledResponse, Delta, Dialect};

use super::{
    assembled,
    assistant::{blocks, message},
    bound,
    parts::pieces,
    recorded, told,
};

/// Returns the place of the text of an event that may be split, and the event for each further piece.
fn piece_of(dialect: &str, event: &Value) -> Option<(&'static str, Value)> {
    let has = |place: &str| event.pointer(place).is_some_and(Value::is_string);
    match dialect {
        "anthropic" => {
            let members = ["/delta/text", "/delta/partial_json", "/delta/thinking", "/delta/signature"];
            Some((members.into_iter().find(|place| has(place))?, event.clone()))
        }
        "openai-responses" => has("/delta").then(|| ("/delta", event.clone())),
        "openai-chat" => {
            let place = "/choices/0/delta/tool_calls/0/function/arguments";
            let is_last = event.pointer("/choices/0/finish_reason").is_some_and(Value::is_string);
            if is_last || event.pointer("/choices/0/delta/tool_calls/1").is_some() {
                return None;
            }
            if has("/choices/0/delta/content") {
                let next = json!({ "choices": [{ "index": 0, "delta": { "content": "" } }] });
                return Some(("/choices/0/delta/content", next));
            }
            let index = event.pointer("/choices/0/delta/tool_calls/0/index")?;
            let part = json!({ "index": index, "function": { "arguments": "" } });
            has(place)
                .then(|| (place, json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [part] } }] })))
        }
        _ => {
            let place = "/candidates/0/content/parts/0/text";
            let is_last = event.pointer("/candidates/0/finishReason").is_some();
            let is_signed = event.pointer("/candidates/0/content/parts/0/thoughtSignature").is_some();
            (has(place) && !is_last && !is_signed).then(|| (place, event.clone()))
        }
    }
}

/// Returns the same events with their texts split.
fn cut(dialect: &str, events: &[Value], cuts: &[prop::sample::Index]) -> Vec<Value> {
    let of = |event: &Value| {
        let Some((place, next)) = piece_of(dialect, event) else { return vec![event.clone()] };
        let text = event.pointer(place).and_then(Value::as_str).unwrap().to_owned();
        let one = |(at, piece): (usize, String)| {
            let mut event = if at == 0 { event.clone() } else { next.clone() };
            *event.pointer_mut(place).unwrap() = piece.into();
            event
        };
        pieces(&text, cuts).into_iter().enumerate().map(one).collect()
    };
    events.iter().flat_map(of).collect()
}

fn of_text(dialect: &Dialect, events: &[Value]) -> (AssembledResponse, String) {
    let mut assembler = bound(dialect).assembler();
    let mut text = String::new();
    for event in events {
        for delta in assembler.push(&event.to_string()).unwrap() {
            if let Delta::Text(part) = delta {
                text.push_str(&part);
            }
        }
    }
    (assembler.finish(), text)
}

/// Returns texts of Gemini, with parts that must not be merged.
pub(super) fn parts() -> Vec<Value> {
    let event = |parts: Value| json!({ "candidates": [{ "content": { "parts": parts, "role": "model" } }] });
    vec![
        event(json!([{ "text": "Let me see.", "thought": true }])),
        event(json!([{ "text": "First, ", "thought": true }])),
        event(json!([{ "text": "I add." }])),
        event(json!([{ "text": "", "thoughtSignature": "EvsD" }])),
        event(json!([{ "text": "Größe" }])),
        event(json!([{ "functionCall": { "name": "add", "args": { "a": 1 } }, "thoughtSignature": "CvsD" }])),
        event(
            json!([{ "functionCall": { "name": "add", "willContinue": true }, "thoughtSignature": "BvsD" }]),
        ),
        event(
            json!([{ "functionCall": { "partialArgs": [{ "jsonPath": "$.a", "numberValue": 1 }], "willContinue": true } }]),
        ),
        event(json!([{ "functionCall": {} }])),
        json!({ "candidates": [{ "content": { "parts": [{ "text": "" }] }, "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 7, "candidatesTokenCount": 5, "thoughtsTokenCount": 3, "toolUsePromptTokenCount": 2, "cachedContentTokenCount": 1 } }),
    ]
}

#[test]
fn only_text_parts_of_gemini_are_merged() {
    let done = assembled(&Dialect::gemini(), &parts());
    let expected = json!({ "parts": [
        { "text": "Let me see.First, ", "thought": true },
        { "text": "I add." },
        { "text": "", "thoughtSignature": "EvsD" },
        { "text": "Größe" },
        { "functionCall": { "name": "add", "args": { "a": 1 } }, "thoughtSignature": "CvsD" },
        { "functionCall": { "name": "add", "args": { "a": 1 } }, "thoughtSignature": "BvsD" },
    ], "role": "model" });
    assert_eq!(message(&done).to_string(), expected.to_string());
    let usage = done.usage.unwrap();
    assert_eq!(
        (usage.input, usage.output, usage.cached, usage.reasoning),
        (Some(9), Some(8), Some(1), Some(3))
    );
    assert_eq!((done.text.as_str(), done.reasoning.as_str()), ("I add.Größe", "Let me see.First, "));
}

fn streams() -> Vec<(Dialect, Vec<Value>)> {
    let recorded = recorded::entries().into_iter().filter_map(|(dialect, _, of)| match of.get("events") {
        Some(Value::Array(events)) => Some((dialect, events.clone())),
        _ => None,
    });
    recorded.chain([(Dialect::anthropic(), blocks()), (Dialect::gemini(), parts())]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_response_does_not_depend_on_the_pieces_of_its_stream(cuts in vec(any::<prop::sample::Index>(), 0..6)) {
        for (dialect, events) in streams() {
            let one = assembled(&dialect, &events);
            let (other, text) = of_text(&dialect, &cut(dialect.name(), &events, &cuts));
            let bare = |it: &AssembledResponse| {
                // Generated ids differ.
                let made = it.calls.iter().filter(|call| call.id.is_generated());
                let text = message(it).to_string();
                made.fold(text, |text, call| text.replace(&call.id.to_string(), ""))
            };
            prop_assert_eq!(bare(&one), bare(&other));
            prop_assert_eq!(&one.text, &text);
            prop_assert_eq!(&one.text, &other.text);
            prop_assert_eq!(&one.reasoning, &other.reasoning);
            prop_assert_eq!((&one.stop_reason, one.usage), (&other.stop_reason, other.usage));
            let calls = |it: &AssembledResponse| told(&it.calls).into_iter().map(|it| (it.1, it.2)).collect::<Vec<_>>();
            prop_assert_eq!(calls(&one), calls(&other));
        }
    }
}
