//! Parts of responses in a form that no provider documents.

use serde_json::{Value, json};
use tool_runtime::dialect::Dialect;

use super::{
    assembled,
    assistant::{message, read},
    call, codes, cut_off, refused, whole,
};

#[test]
fn arguments_of_a_native_call_are_sent_back_as_an_object() {
    let sent = |input: Value| {
        let block = json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": input });
        let text = json!({ "type": "text", "text": "Hm." });
        let response = json!({ "role": "assistant", "content": [block, text], "stop_reason": "end_turn" });
        message(&read(&Dialect::anthropic(), &response))["content"][0]["input"].clone()
    };
    for (input, expected) in [
        (json!({ "query": "a" }), json!({ "query": "a" })),
        (json!(r#"{"query":"a"}"#), json!({ "query": "a" })),
        (json!("null"), json!({})),
        (json!(" "), json!({})),
        (Value::Null, json!({})),
        (json!("a"), json!({ "INVALID_JSON": "a" })),
        (json!("[1]"), json!({ "INVALID_JSON": "[1]" })),
    ] {
        assert_eq!(sent(input.clone()), expected, "{input}");
    }
}

#[test]
fn a_piece_of_the_input_that_is_no_text_costs_its_call() {
    let events = |kind: &str| {
        let block = json!({ "type": kind, "id": "c", "name": "add", "input": {} });
        let delta = |index: u64, piece: Value| {
            let delta = json!({ "type": "input_json_delta", "partial_json": piece });
            json!({ "type": "content_block_delta", "index": index, "delta": delta })
        };
        [
            json!({ "type": "message_start", "message": { "role": "assistant" } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": block }),
            delta(0, json!(r#"{"a":1"#)),
            delta(0, json!(2)),
            delta(0, json!("}")),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
            json!({ "type": "message_stop" }),
        ]
    };
    let done = assembled(&Dialect::anthropic(), &events("tool_use"));
    assert_eq!(cut_off(&done.calls), [call("c", "add", r#"{"a":1}"#)]);
    assert_eq!(codes(&done), ["unreadable_part", "contradictory_call"]);
    assert_eq!(done.diagnostics[0].location.pointer, "/delta/partial_json");
    let native = assembled(&Dialect::anthropic(), &events("server_tool_use"));
    assert_eq!((native.calls.len(), codes(&native)), (0, vec!["unreadable_part"]));
}

#[test]
fn texts_of_items_of_other_types_are_neither_text_nor_reasoning() {
    let part = json!([{ "type": "output_text", "text": "Hm." }]);
    let other = json!({ "type": "web_search_call", "id": "ws", "content": part, "summary": part });
    let said = json!({ "type": "message", "id": "m", "role": "assistant", "content": part });
    let response = json!({ "status": "completed", "output": [other, said] });
    let done = read(&Dialect::openai_responses(), &response);
    assert_eq!((&*done.text, &*done.reasoning), ("Hm.", ""));
    assert_eq!(message(&done), json!([other, said]));
}

#[test]
fn the_input_of_a_custom_call_that_was_cut_off_stays_in_its_item() {
    let item = json!({
        "type": "custom_tool_call", "id": "ctc", "call_id": "c", "name": "run", "input": "", "status": "in_progress",
    });
    let events = [
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
        json!({ "type": "response.custom_tool_call_input.delta", "output_index": 0, "item_id": "ctc", "delta": "1 +" }),
    ];
    let done = assembled(&Dialect::openai_responses(), &events);
    assert_eq!(cut_off(&done.calls), [call("c", "run", "1 +")]);
    assert_eq!((&message(&done)[0]["input"], message(&done)[0].get("arguments")), (&json!("1 +"), None));
}

#[test]
fn a_choice_whose_message_is_no_object_is_an_error() {
    for (message, got) in [(json!(5), "a number"), (json!(null), "null")] {
        let response = json!({ "choices": [{ "index": 0, "message": message }] });
        assert_eq!(
            refused(&Dialect::openai_chat(), &response),
            format!("/choices/0/message: expected an object, got {got}")
        );
    }
}

#[test]
fn an_item_without_an_id_at_the_end_is_none_of_the_calls_that_arrived_before() {
    let item = |id: Value, arguments: &str| json!({ "type": "function_call", "call_id": id, "name": "add", "arguments": arguments, "status": "completed" });
    let done =
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item(json!("1"), "{}") });
    let end = |output: Value| json!({ "type": "response.completed", "response": { "status": "completed", "output": output } });
    let calls = |events: &[Value]| assembled(&Dialect::openai_responses(), events).calls.len();
    assert_eq!(calls(&[done.clone(), end(json!([null, item(Value::Null, "{}")]))]), 1);
    assert_eq!(calls(&[done, end(json!([item(json!("1"), "{}"), item(json!("2"), "{}")]))]), 2);
    assert_eq!(calls(&[end(json!([item(Value::Null, "{}"), item(Value::Null, "{}")]))]), 2);
}

#[test]
fn events_of_openai_without_a_type_or_a_text_cost_themselves_or_their_call() {
    let item = json!({ "type": "function_call", "id": "fc", "call_id": "c", "name": "add", "arguments": "" });
    let delta = |delta: Value| json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc", "delta": delta });
    let begun = json!({ "type": "response.output_item.added", "output_index": 0, "item": item });
    let ended = json!({ "type": "response.output_item.done", "output_index": 0, "item": {
        "type": "function_call", "id": "fc", "call_id": "c", "name": "add", "arguments": "{}", "status": "completed",
    } });
    let end = json!({ "type": "response.completed", "response": { "status": "completed" } });
    let untyped = assembled(
        &Dialect::openai_responses(),
        &[begun.clone(), json!({ "delta": "a" }), delta(json!("{}")), ended.clone(), end.clone()],
    );
    assert_eq!((whole(&untyped.calls).len(), codes(&untyped)), (1, vec!["unreadable_part"]));
    let number = assembled(&Dialect::openai_responses(), &[begun, delta(json!(1)), ended, end]);
    assert_eq!(
        (cut_off(&number.calls).len(), codes(&number)),
        (1, vec!["unreadable_part", "contradictory_call"])
    );
}
