//! The assistant message of a response, and its text, reasoning, tokens and stop reason.

use serde_json::Value;
use tool_runtime::{
    dialect::{AssembledResponse, Delta, Dialect, Usage},
    prelude::*,
    serde_json,
};

use super::{assembled, bound, cut_off, recorded, told, whole};

/// The assistant message, as a value.
pub(super) fn message(assembled: &AssembledResponse) -> Value {
    assembled.message.as_ref().map_or(Value::Null, |message| serde_json::from_str(message.get()).unwrap())
}

pub(super) fn read(dialect: &Dialect, response: &Value) -> AssembledResponse {
    bound(dialect).read(response).unwrap()
}

/// Returns the message of the provider, by its place in a whole response.
fn sent(dialect: &str, response: &Value) -> Value {
    match dialect {
        "openai-chat" => response["choices"][0]["message"].clone(),
        "openai-responses" => response["output"].clone(),
        "anthropic" => json!({ "role": "assistant", "content": response["content"] }),
        "gemini" => response["candidates"][0]["content"].clone(),
        _ => Value::Null,
    }
}

/// Returns a response without generated ids.
#[track_caller]
fn same(one: &AssembledResponse, other: &AssembledResponse, name: &str) {
    let text = |it: &AssembledResponse| it.message.as_ref().map(|message| message.get().to_owned());
    assert_eq!(text(one), text(other), "{name}");
    assert_eq!((&one.text, &one.reasoning), (&other.text, &other.reasoning), "{name}");
    assert_eq!((&one.stop_reason, one.usage), (&other.stop_reason, other.usage), "{name}");
    // Arguments that arrive as a value have no whitespace to keep.
    let value = |text: String| serde_json::from_str::<Value>(&text).unwrap_or(Value::String(text));
    let calls = |it: &AssembledResponse| {
        whole(&it.calls).into_iter().map(|it| (it.1, value(it.2))).collect::<Vec<_>>()
    };
    assert_eq!(calls(one), calls(other), "{name}");
}

#[test]
fn the_message_of_a_whole_response_is_unchanged() {
    let mut counted = 0;
    for (dialect, name, of) in recorded::entries() {
        let Some(response) = of.get("response") else { continue };
        let read = read(&dialect, response);
        let mut expected = sent(dialect.name(), response);
        if name.ends_with("called by code") || expected.as_array().is_some_and(Vec::is_empty) {
            expected = message(&read);
        }
        // The provider would refuse these arguments in a request.
        if name.ends_with(": malformed arguments") {
            let function = match dialect.name() {
                "openai-chat" => &mut expected["tool_calls"][0]["function"],
                _ => &mut expected[0],
            };
            function["arguments"] = json!({ "INVALID_JSON": function["arguments"] }).to_string().into();
        }
        // Compared as texts, so that the order of members counts.
        assert_eq!(message(&read).to_string(), expected.to_string(), "{name}");
        assert!(read.ended && (read.message.is_some() || dialect.name() == "mcp"), "{name}");
        counted += 1;
    }
    assert!(counted >= 25, "{counted}");
}

#[test]
fn a_stream_and_a_whole_response_have_the_same_message() {
    let mut counted = 0;
    for (dialect, name, of) in recorded::entries() {
        let Some(Value::Array(events)) = of.get("events") else { continue };
        let whole = match events.last() {
            Some(last) if last["response"]["output"].is_array() => last["response"].clone(),
            // The package contains the same response in both forms.
            _ if name == "anthropic: a stream of parallel calls" => {
                let both = recorded::entries().into_iter().find(|it| it.1 == "anthropic: parallel calls");
                both.unwrap().2["response"].clone()
            }
            _ => continue,
        };
        let mut whole = read(&dialect, &whole);
        let stream = assembled(&dialect, events);
        if dialect.name() == "anthropic" {
            // The token counts of the package are invented.
            assert_eq!(stream.usage.and_then(|usage| usage.output), Some(20));
            whole.usage = stream.usage;
        }
        same(&stream, &whole, &name);
        counted += 1;
    }
    assert!(counted >= 9, "{counted}");
}

#[test]
fn every_call_of_a_response_is_in_its_message_under_its_id() {
    for (dialect, name, of) in recorded::entries() {
        let bound = bound(&dialect);
        let done = match (of.get("response"), of.get("events")) {
            (Some(response), _) => bound.read(response).unwrap(),
            (_, Some(Value::Array(events))) => assembled(&dialect, events),
            _ => continue,
        };
        let text = message(&done).to_string();
        for call in done.calls.iter().filter(|_| dialect.name() != "mcp") {
            let id = format!("\"{}\"", call.id);
            assert!(text.contains(&id) || dialect.name() == "gemini", "{name}: {id} is not in {text}");
            assert!(text.contains(&format!("\"name\":\"{}\"", call.name)), "{name}: {text}");
        }
    }
}

/// The events of an Anthropic stream with all kinds of blocks.
pub(super) fn blocks() -> Vec<Value> {
    let start = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta =
        |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let stop = |index: u64| json!({ "type": "content_block_stop", "index": index });
    vec![
        json!({ "type": "message_start", "message": {
            "id": "msg_1", "role": "assistant", "content": [], "model": "claude", "stop_reason": null,
            "usage": { "input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 1 },
        }}),
        start(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "Let me " })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "see." })),
        delta(0, json!({ "type": "signature_delta", "signature": "EqQBCgIYAhIM" })),
        stop(0),
        start(1, json!({ "type": "redacted_thinking", "data": "EmwKAhgB" })),
        stop(1),
        json!({ "type": "ping" }),
        start(2, json!({ "type": "text", "text": "", "citations": [] })),
        delta(2, json!({ "type": "text_delta", "text": "I " })),
        delta(
            2,
            json!({ "type": "citations_delta", "citation": { "type": "char_location", "cited_text": "2", "document_index": 0, "document_title": null, "start_char_index": 6, "end_char_index": 7 } }),
        ),
        delta(2, json!({ "type": "text_delta", "text": "add." })),
        stop(2),
        start(3, json!({ "type": "text", "text": "" })),
        delta(3, json!({ "type": "text_delta", "text": "\n\n" })),
        stop(3),
        start(4, json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {} })),
        delta(4, json!({ "type": "input_json_delta", "partial_json": "{\"query\": \"1." })),
        delta(4, json!({ "type": "input_json_delta", "partial_json": "0\", \"score\": 1.10}" })),
        stop(4),
        start(
            5,
            json!({ "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{ "type": "web_search_result", "title": "Two", "url": "https://two.org", "encrypted_content": "Eq8C" }] }),
        ),
        stop(5),
        start(6, json!({ "type": "tool_use", "id": "toolu_1", "name": "add", "input": {} })),
        delta(6, json!({ "type": "input_json_delta", "partial_json": "" })),
        delta(6, json!({ "type": "input_json_delta", "partial_json": "{\"a\": 2," })),
        delta(6, json!({ "type": "input_json_delta", "partial_json": " \"b\": 3e0}" })),
        stop(6),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use", "stop_sequence": null }, "usage": { "output_tokens": 42 } }),
        json!({ "type": "message_stop" }),
    ]
}

#[test]
fn blocks_of_a_stream_keep_signatures_citations_and_server_tool_calls() {
    let done = assembled(&Dialect::anthropic(), &blocks());
    // The blank text is omitted, because the provider refuses it.
    let expected = concat!(
        r#"{"role":"assistant","content":["#,
        r#"{"type":"thinking","thinking":"Let me see.","signature":"EqQBCgIYAhIM"},"#,
        r#"{"type":"redacted_thinking","data":"EmwKAhgB"},"#,
        r#"{"type":"text","text":"I add.","citations":[{"type":"char_location","cited_text":"2","document_index":0,"document_title":null,"start_char_index":6,"end_char_index":7}]},"#,
        r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"1.0","score":1.10}},"#,
        r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"Two","url":"https://two.org","encrypted_content":"Eq8C"}]},"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"add","input":{"a":2,"b":3e0}}]}"#,
    );
    assert_eq!(done.message.as_ref().unwrap().get(), expected);
    assert_eq!((done.text.as_str(), done.reasoning.as_str()), ("I add.\n\n", "Let me see."));
    assert_eq!(done.stop_reason.as_deref(), Some("tool_use"));
    let mut usage = Usage::default();
    (usage.input, usage.output) = (Some(240), Some(42));
    (usage.cached, usage.cache_written) = (Some(200), Some(30));
    assert_eq!(done.usage, Some(usage));
    assert_eq!(told(&done.calls)[0].2, r#"{"a": 2, "b": 3e0}"#);
}

#[test]
fn text_and_reasoning_are_emitted_as_they_arrive() {
    let text = |text: &str| Delta::Text(text.to_owned());
    let reasoning = |text: &str| Delta::Reasoning(text.to_owned());
    let of = |dialect: Dialect, events: &[Value]| {
        let mut assembler = bound(&dialect).assembler();
        events.iter().flat_map(|event| assembler.push(event).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        of(Dialect::anthropic(), &blocks()),
        [reasoning("Let me "), reasoning("see."), text("I "), text("add."), text("\n\n")]
    );
    let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let chat = [
        delta(json!({ "role": "assistant", "content": "", "reasoning_content": "Hm" })),
        delta(json!({ "reasoning_content": ".", "reasoning": "." })),
        delta(json!({ "content": "Hi" })),
        delta(json!({ "content": [{ "type": "text", "text": "!" }] })),
        delta(json!({ "refusal": "No." })),
    ];
    let expected = [reasoning("Hm"), reasoning("."), text("Hi"), text("!"), text("No.")];
    assert_eq!(of(Dialect::openai_chat(), &chat), expected);
    let part = |part: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": [part] } }] });
    let gemini = [part(json!({ "text": "Hm.", "thought": true })), part(json!({ "text": "Hi." }))];
    assert_eq!(of(Dialect::gemini(), &gemini), [reasoning("Hm."), text("Hi.")]);
    let item = |kind: &str, delta: &str| json!({ "type": format!("response.{kind}.delta"), "output_index": 0, "item_id": kind, "delta": delta });
    let items = [
        item("reasoning_summary_text", "Hm."),
        item("reasoning_text", "Well."),
        item("output_text", "Hi."),
        item("refusal", "No."),
    ];
    let expected = [reasoning("Hm."), reasoning("Well."), text("Hi."), text("No.")];
    assert_eq!(of(Dialect::openai_responses(), &items), expected);
}

#[test]
fn json_text_keeps_all_digits_and_done_is_not_an_event() {
    let response = r#"{"content":[{"type":"tool_use","id":"toolu_1","name":"add","input":{"a":12345678901234567890123,"b":[1.10,1e2,-0.0]}}],"role":"assistant","stop_reason":"tool_use"}"#;
    let arguments = r#"{"a":12345678901234567890123,"b":[1.10,1e2,-0.0]}"#;
    let read = bound(&Dialect::anthropic()).read(response).unwrap();
    assert_eq!(read.calls[0].arguments.as_str(), arguments);
    assert!(read.message.unwrap().get().contains(arguments));

    let event = r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"add","args":{"a":1.10}},"thoughtSignature":"EvsD"}]},"finishReason":"STOP"}]}"#;
    let mut assembler = bound(&Dialect::gemini()).assembler();
    assert_eq!(assembler.push(event).unwrap(), []);
    assert_eq!(assembler.push(" [DONE]\n").unwrap(), []);
    let why = assembler.push("{\"candidates\":").unwrap_err();
    assert!(
        why.to_string().starts_with("the root: expected JSON, got a text that is not JSON (EOF"),
        "{why}"
    );
    let done = assembler.finish();
    assert_eq!(done.calls[0].arguments.as_str(), r#"{"a":1.10}"#);
    let message = r#"{"role":"model","parts":[{"functionCall":{"name":"add","args":{"a":1.10}},"thoughtSignature":"EvsD"}]}"#;
    assert_eq!(done.message.unwrap().get(), message);
}

// F10, F21
#[test]
fn truncated_arguments_stay_in_the_message_and_do_not_run() {
    let mut events = blocks();
    events.truncate(events.len() - 4);
    let done = assembled(&Dialect::anthropic(), &events);
    assert_eq!(cut_off(&done.calls), [super::call("toolu_1", "add", "{\"a\": 2,")]);
    let last = message(&done)["content"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["input"], json!({ "INVALID_JSON": "{\"a\": 2," }));
    assert!(!done.ended);
    // Truncated thinking has no signature, so that the provider would refuse it.
    let thought = assembled(&Dialect::anthropic(), &blocks()[..4]);
    assert!(thought.message.is_none());
    assert_eq!(thought.reasoning, "Let me see.");

    let part = |part: Value| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [part] } }] });
    let chat = [
        part(
            json!({ "index": 0, "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "" } }),
        ),
        part(json!({ "index": 0, "function": { "arguments": "{\"a\"" } })),
    ];
    let done = assembled(&Dialect::openai_chat(), &chat);
    assert_eq!(cut_off(&done.calls).len(), 1);
    let marked = "{\"INVALID_JSON\":\"{\\\"a\\\"\"}";
    assert_eq!(message(&done)["tool_calls"][0]["function"], json!({ "name": "add", "arguments": marked }));
    assert_eq!(message(&done)["tool_calls"][0].get("index"), None);

    let item = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "", "status": "in_progress" });
    let thinking = json!({ "type": "reasoning", "id": "rs_1", "summary": [] });
    let items = [
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": "{\"a\"" }),
        json!({ "type": "response.output_item.added", "output_index": 1, "item": thinking }),
    ];
    let done = assembled(&Dialect::openai_responses(), &items);
    assert_eq!(cut_off(&done.calls).len(), 1);
    let mut expected = item;
    expected["arguments"] = marked.into();
    assert_eq!(message(&done), json!([expected]));
}

#[test]
fn stream_items_without_a_start_or_an_end_are_kept() {
    let event = |kind: &str, members: Value| {
        let mut event = members;
        event["type"] = format!("response.{kind}").into();
        event
    };
    let told = |events: &[Value]| message(&assembled(&Dialect::openai_responses(), events));
    let item = json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": [] });
    let added = event("output_item.added", json!({ "output_index": 0, "item": item }));
    let part = json!({ "type": "output_text", "text": "", "annotations": [] });
    let part = event(
        "content_part.added",
        json!({ "output_index": 0, "item_id": "msg_1", "content_index": 0, "part": part }),
    );
    let delta = event(
        "output_text.delta",
        json!({ "output_index": 0, "item_id": "msg_1", "content_index": 0, "delta": "Hi" }),
    );
    let begun = told(&[added, part, delta.clone(), delta.clone()]);
    let mut expected = item.clone();
    expected["content"] = json!([{ "type": "output_text", "text": "HiHi", "annotations": [] }]);
    assert_eq!(begun, json!([expected]));
    // An item without a start event.
    let made = json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [{ "type": "output_text", "text": "Hi" }] });
    assert_eq!(told(std::slice::from_ref(&delta)), json!([made]));
    let no = json!({ "output_index": 0, "item_id": "msg_1", "content_index": 0, "delta": "No" });
    let no = event("refusal.delta", no);
    let refused = json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [{ "type": "refusal", "refusal": "NoNo" }] });
    assert_eq!(told(&[no.clone(), no]), json!([refused]));
    // The end event contains the whole item, with or without a start event.
    let mut done = item.clone();
    done["status"] = "completed".into();
    done["content"] = json!([{ "type": "output_text", "text": "Hi", "annotations": [] }]);
    let added = event("output_item.added", json!({ "output_index": 0, "item": item }));
    let ended = event("output_item.done", json!({ "output_index": 0, "item": done }));
    assert_eq!(told(&[added, ended.clone()]), json!([done]));
    assert_eq!(told(std::slice::from_ref(&ended)), json!([done]));
    // The end of the response contains the whole item, and its text is emitted once.
    let whole = json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{ "type": "output_text", "text": "Hi", "annotations": [] }] });
    let thought = json!({ "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "Hm." }], "encrypted_content": "gAAA" });
    let output = json!([thought, whole]);
    let last = event("completed", json!({ "response": { "status": "completed", "output": output } }));
    for first in [delta, ended] {
        let done = assembled(&Dialect::openai_responses(), &[first.clone(), last.clone()]);
        assert_eq!((done.text.as_str(), done.reasoning.as_str()), ("Hi", "Hm."), "{first}");
        let items: Vec<_> = message(&done).as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
        assert_eq!(items, ["rs_1", "msg_1"], "{first}");
        if first["type"] == "response.output_text.delta" {
            assert_eq!(message(&done).to_string(), output.to_string());
        }
    }
    let call = json!({ "type": "function_call", "id": "fc_1", "call_id": "1", "name": "add", "arguments": "{}", "status": "completed" });
    let only = event("completed", json!({ "response": { "status": "completed", "output": [call] } }));
    assert_eq!(told(&[only]), json!([call]));
    // The provider refuses reasoning without a following item.
    let (thought, whole) = (&output[0], &output[1]);
    let of = |output: Value| {
        message(&read(&Dialect::openai_responses(), &json!({ "status": "incomplete", "output": output })))
    };
    assert_eq!(of(json!([thought, whole, thought, thought])), json!([thought, whole]));
    assert_eq!(of(json!([thought])), Value::Null);
    // Some servers send items that are nothing.
    assert_eq!(of(json!([null, whole, null])), json!([whole]));
}
