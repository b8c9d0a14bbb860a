//! The assistant message of chat completions, as OpenAI and other servers send them.

use serde_json::{Value, json};
use tool_runtime::dialect::Dialect;

use super::{
    assembled,
    assistant::{message, read},
};

#[test]
fn additional_members_of_a_chat_message_are_sent_back() {
    let events = [
        json!({ "role": "assistant", "content": null }),
        json!({ "reasoning_content": "Hm", "reasoning_details": [{ "type": "reasoning.text", "text": "Hm", "index": 0 }] }),
        json!({ "reasoning_content": ".", "reasoning_details": [{ "type": "reasoning.text", "text": ".", "signature": "c2ln", "index": 0 }] }),
        json!({ "tool_calls": [{ "index": 0, "function": { "name": "add", "arguments": "{\"a\":" }, "extra_content": { "google": { "thought_signature": "EvsD" } } }] }),
        json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "1.0}" } }] }),
    ];
    let mut events: Vec<_> =
        events.iter().map(|delta| json!({ "choices": [{ "index": 0, "delta": delta }] })).collect();
    events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }));
    events.push(json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
        "prompt_tokens_details": { "cached_tokens": 4 }, "completion_tokens_details": { "reasoning_tokens": 2 } } }));
    let done = assembled(&Dialect::openai_chat(), &events);
    let id = done.calls[0].id.to_string();
    let expected = json!({
        "role": "assistant",
        "content": null,
        "reasoning_content": "Hm.",
        "reasoning_details": [{ "type": "reasoning.text", "text": "Hm.", "index": 0, "signature": "c2ln" }],
        "tool_calls": [{
            "function": { "name": "add", "arguments": "{\"a\":1.0}" },
            "extra_content": { "google": { "thought_signature": "EvsD" } },
            "type": "function",
            "id": id,
        }],
    });
    assert_eq!(message(&done), expected);
    let usage = done.usage.unwrap();
    assert_eq!((usage.input, usage.output), (Some(9), Some(5)));
    assert_eq!((usage.cached, usage.reasoning), (Some(4), Some(2)));
}

#[test]
fn chat_content_is_a_text_or_a_list_of_parts() {
    let of = |contents: &[Value]| {
        let event = |content: &Value| json!({ "choices": [{ "index": 0, "delta": { "content": content } }] });
        message(&assembled(&Dialect::openai_chat(), &contents.iter().map(event).collect::<Vec<_>>()))
    };
    let part = |text: &str| json!({ "type": "text", "text": text });
    let said = |content: Value| json!({ "role": "assistant", "content": content });
    assert_eq!(of(&[json!(""), json!("a"), Value::Null, json!("b")]), said(json!("ab")));
    assert_eq!(of(&[json!(""), json!([part("a")]), json!("")]), said(json!([part("a")])));
    assert_eq!(
        of(&[json!("a"), json!([part("b")]), json!("c")]),
        said(json!([part("a"), part("b"), part("c")]))
    );
    assert!(assembled(&Dialect::openai_chat(), &[]).message.is_none());
    // Providers refuse an empty list of calls.
    for calls in [json!([]), Value::Null] {
        let event = json!({ "choices": [{ "index": 0, "delta": { "content": "a", "tool_calls": calls } }] });
        assert_eq!(message(&assembled(&Dialect::openai_chat(), &[event])), said(json!("a")));
        let sent = json!({ "role": "assistant", "content": "a", "tool_calls": calls });
        let whole = json!({ "choices": [{ "message": sent, "finish_reason": "stop" }] });
        assert_eq!(message(&read(&Dialect::openai_chat(), &whole)), said(json!("a")));
    }
}

#[test]
fn the_message_is_the_choice_with_calls_or_else_the_first_choice() {
    let call = json!({ "id": "1", "type": "function", "function": { "name": "add", "arguments": "{}" } });
    let choice = |text: &str, calls: Value, reason: &str| json!({ "message": { "role": "assistant", "content": text, "tool_calls": calls }, "finish_reason": reason });
    let (none, one) = (choice("a", json!([]), "length"), choice("b", json!([call]), "tool_calls"));
    let of = |choices: Value| {
        read(&Dialect::openai_chat(), &json!({ "choices": choices, "usage": { "prompt_tokens": 1 } }))
    };
    let first = of(json!([none, choice("c", json!([]), "stop")]));
    assert_eq!((first.text.as_str(), first.stop_reason.as_deref()), ("a", Some("length")));
    let with_call = of(json!([none, one]));
    assert_eq!((with_call.text.as_str(), with_call.stop_reason.as_deref()), ("b", Some("tool_calls")));
    assert!(with_call.calls[0].completed().is_ok());
    assert_eq!(
        (message(&with_call)["content"].as_str(), with_call.usage.unwrap().input),
        (Some("b"), Some(1))
    );
}

#[test]
fn a_legacy_function_call_is_assembled() {
    let event = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let events = [
        event(
            json!({ "role": "assistant", "content": null, "function_call": { "name": "add", "arguments": "" } }),
        ),
        event(json!({ "function_call": { "arguments": "{\"a\":" } })),
        event(json!({ "function_call": { "arguments": "1}" } })),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "function_call" }] }),
    ];
    let function = json!({ "name": "add", "arguments": "{\"a\":1}" });
    let expected = json!({ "role": "assistant", "content": null, "function_call": function });
    assert_eq!(message(&assembled(&Dialect::openai_chat(), &events)), expected);
}

#[test]
fn members_repeated_in_every_part_of_a_call_are_kept_once() {
    let part = |part: Value| json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "tool_calls": [part] } }] });
    let id = json!("call_1");
    for (id, name) in [(id.clone(), json!("add")), (json!(""), json!("")), (Value::Null, Value::Null)] {
        let events = [
            part(
                json!({ "index": 0, "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{" } }),
            ),
            part(
                json!({ "index": 0, "id": id, "type": "function", "function": { "name": name, "arguments": "}" } }),
            ),
        ];
        let call =
            json!({ "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{}" } });
        let expected = json!({ "role": "assistant", "tool_calls": [call] });
        assert_eq!(message(&assembled(&Dialect::openai_chat(), &events)), expected);
    }
}
