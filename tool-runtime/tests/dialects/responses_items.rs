//! Items of OpenAI's responses that lack an id, repeat themselves or have parts of other types.

use serde_json::{Value, json};
use tool_runtime::dialect::Dialect;

use super::{assembled, assistant::message};

fn event(kind: &str, mut members: Value) -> Value {
    members["type"] = format!("response.{kind}").into();
    members
}

fn completed(output: Value) -> Value {
    event("completed", json!({ "response": { "status": "completed", "output": output } }))
}

fn sent(events: &[Value]) -> Value {
    message(&assembled(&Dialect::openai_responses(), events))
}

fn said(text: &str) -> Value {
    json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
}

#[test]
fn an_item_without_an_id_is_the_open_one_of_its_type_or_an_equal_one() {
    let done = |item: &Value| event("output_item.done", json!({ "item": item }));
    let added = |item: &Value| event("output_item.added", json!({ "item": item }));
    let empty = json!({ "type": "message", "role": "assistant", "content": [] });
    let thought = json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Hm." }] });
    // An equal one that has ended, and an open one.
    assert_eq!(sent(&[done(&said("a")), completed(json!([said("a")]))]), json!([said("a")]));
    assert_eq!(sent(&[added(&empty), completed(json!([said("a")]))]), json!([said("a")]));
    // Another one that has ended.
    assert_eq!(sent(&[done(&said("a")), completed(json!([said("b")]))]), json!([said("b"), said("a")]));
    // An open one of another type, and an open one with an id.
    let begun = json!({ "type": "message", "id": "m", "role": "assistant", "content": [] });
    assert_eq!(
        sent(&[added(&begun), completed(json!([thought, said("a")]))]),
        json!([thought, said("a"), begun])
    );
    // Each has its own text once.
    let both = assembled(&Dialect::openai_responses(), &[done(&said("a")), completed(json!([said("b")]))]);
    assert_eq!(both.text, "ab");
}

#[test]
fn an_item_that_begins_twice_is_one_item() {
    let call =
        json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "" });
    let mut whole = call.clone();
    whole["arguments"] = r#"{"a":1,"b":2}"#.into();
    let added = event("output_item.added", json!({ "output_index": 0, "item": call }));
    let done = event("output_item.done", json!({ "output_index": 0, "item": whole }));
    assert_eq!(sent(&[added.clone(), added.clone(), done]), json!([whole]));
    let cut = assembled(&Dialect::openai_responses(), &[added.clone(), added]);
    assert_eq!((message(&cut).as_array().unwrap().len(), cut.calls.len()), (1, 1));
}

#[test]
fn a_delta_keeps_the_type_of_its_part_and_gives_one_to_a_part_without_a_type() {
    let place = json!({ "output_index": 0, "item_id": "m", "content_index": 0 });
    let with = |name: &str, value: Value| {
        let mut members = place.clone();
        members[name] = value;
        members
    };
    for (kind, delta, of_own, of_another) in
        [("output_text.delta", "text", "output_text", "text"), ("refusal.delta", "refusal", "refusal", "no")]
    {
        let part = json!({ "type": of_another, (delta): "" });
        let events = [
            event("content_part.added", with("part", part)),
            event(kind, with("delta", json!("Hi"))),
            event(kind, with("delta", json!("!"))),
        ];
        assert_eq!(sent(&events)[0]["content"], json!([{ "type": of_another, (delta): "Hi!" }]));
        let content = &sent(&events[1..])[0]["content"];
        assert_eq!(*content, json!([{ "type": of_own, (delta): "Hi!" }]));
    }
}
