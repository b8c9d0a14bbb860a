//! A part of a response that cannot be read costs itself, with a diagnostic; what goes back has the form of a request.

use serde_json::{Value, json};
use tool_runtime::{
    ToolOutput, ToolResult,
    dialect::{AssembledResponse, Dialect},
};

use super::{assembled, assistant::message, assistant::read, bound, call, codes, refused, told, whole};

fn chat_message(message: Value) -> Value {
    json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] })
}

/// Returns a stream of a chat, with each of the `calls` in one part.
fn chat_stream(calls: &[Value]) -> Vec<Value> {
    let delta = |call: &Value| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    calls.iter().map(delta).chain([end]).collect()
}

fn anthropic_message(content: Value) -> Value {
    json!({ "role": "assistant", "content": content, "stop_reason": "tool_use" })
}

/// Returns a stream with these blocks, each begun and stopped.
fn anthropic_stream(blocks: &[Value]) -> Vec<Value> {
    let of_block = |(index, block): (usize, &Value)| {
        [
            json!({ "type": "content_block_start", "index": index, "content_block": block }),
            json!({ "type": "content_block_stop", "index": index }),
        ]
    };
    let end = [
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ];
    let begin = json!({ "type": "message_start", "message": { "role": "assistant" } });
    [begin].into_iter().chain(blocks.iter().enumerate().flat_map(of_block)).chain(end).collect()
}

fn responses_message(items: &Value) -> Value {
    json!({ "status": "completed", "output": items })
}

fn responses_stream(items: &[Value]) -> Vec<Value> {
    let of_item = |(index, item): (usize, &Value)| {
        ["added", "done"].map(|kind| {
            json!({ "type": format!("response.output_item.{kind}"), "output_index": index, "item": item })
        })
    };
    let end = json!({ "type": "response.completed", "response": { "status": "completed", "output": items } });
    items.iter().enumerate().flat_map(of_item).chain([end]).collect()
}

fn gemini_message(parts: &Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }] })
}

/// Returns the ids of the calls, those in the message, and those of the results.
fn ids(dialect: &Dialect, done: &AssembledResponse) -> [Vec<Value>; 3] {
    let results: Vec<_> = done
        .calls
        .iter()
        .map(|call| ToolResult::new(call.id.clone(), &*call.name, Ok(ToolOutput::from("5"))))
        .collect();
    let results = bound(dialect).results(&results);
    let (message, calls) = (message(done), done.calls.iter().map(|call| json!(call.id)).collect());
    let all = |list: &Value, place: &str| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|it| it.pointer(place).unwrap().clone()).collect()
    };
    match dialect.name() {
        "openai-chat" => [calls, all(&message["tool_calls"], "/id"), all(&results, "/tool_call_id")],
        "openai-responses" => [calls, all(&message, "/call_id"), all(&results, "/call_id")],
        "anthropic" => [calls, all(&message["content"], "/id"), all(&results["content"], "/tool_use_id")],
        _ => [
            calls,
            all(&message["parts"], "/functionCall/id"),
            all(&results["parts"], "/functionResponse/id"),
        ],
    }
}

#[test]
fn a_repeated_id_of_a_call_is_replaced_in_the_call_and_its_result() {
    let ids_of = ["c", "c_2", "c", "c"];
    let expected = json!(["c", "c_2", "c_3", "c_4"]);
    let chat: Vec<_> = (0..)
        .zip(ids_of)
        .map(|(at, id)| json!({ "index": at, "id": id, "type": "function", "function": { "name": "add", "arguments": "{\"a\":1,\"b\":2}" } }))
        .collect();
    let items: Vec<_> = ids_of
        .iter()
        .map(|id| json!({ "type": "function_call", "call_id": id, "name": "add", "arguments": "{\"a\":1,\"b\":2}", "status": "completed" }))
        .collect();
    let blocks: Vec<_> = ids_of
        .iter()
        .map(|id| json!({ "type": "tool_use", "id": id, "name": "add", "input": { "a": 1, "b": 2 } }))
        .collect();
    let parts: Vec<_> = ids_of
        .iter()
        .map(|id| json!({ "functionCall": { "id": id, "name": "add", "args": { "a": 1, "b": 2 } } }))
        .collect();
    let cases = [
        (Dialect::openai_chat(), chat_message(json!({ "tool_calls": chat })), chat_stream(&chat)),
        (Dialect::openai_responses(), responses_message(&json!(items)), responses_stream(&items)),
        (Dialect::anthropic(), anthropic_message(json!(blocks)), anthropic_stream(&blocks)),
        (Dialect::gemini(), gemini_message(&json!(parts)), vec![gemini_message(&json!(parts))]),
    ];
    for (dialect, response, events) in cases {
        for done in [read(&dialect, &response), assembled(&dialect, &events)] {
            let [calls, sent, results] = ids(&dialect, &done);
            assert_eq!(json!(calls), expected, "{}", dialect.name());
            assert_eq!((&calls, &calls), (&sent, &results), "{}", dialect.name());
            assert_eq!(codes(&done), ["duplicate_call_id"; 2]);
        }
    }
}

#[test]
fn a_name_that_arrives_in_pieces_is_one_name() {
    let part = |name: &str, arguments: &str| json!({ "index": 0, "function": { "name": name, "arguments": arguments } });
    let first = |name: &str| json!({ "index": 0, "id": "c", "type": "function", "function": { "name": name, "arguments": "" } });
    let (arguments, end) = ("{\"a\":1}", part("", "{\"a\":1}"));
    let cases = [
        vec![first("a"), part("dd", ""), end.clone()],
        vec![first("a"), part("d", ""), part("d", ""), end.clone()],
        vec![first("ad"), part("d", arguments)],
        // The name so far, the whole name in each part, and pieces beside parts of the arguments.
        vec![first("ad"), part("add", ""), end.clone()],
        vec![first("add"), part("add", "{\"a\""), part("add", ":1}")],
        vec![first("ad"), part("", "{\"a\""), part("d", ":1}")],
        vec![first(""), part("ad", ""), part("null", ""), part("d", ""), end],
    ];
    for parts in cases {
        let done = assembled(&Dialect::openai_chat(), &chat_stream(&parts));
        assert_eq!(whole(&done.calls), [call("c", "add", arguments)], "{parts:?}");
        let function = json!({ "name": "add", "arguments": arguments });
        assert_eq!(message(&done)["tool_calls"][0]["function"], function, "{parts:?}");
        assert_eq!(codes(&done), [""; 0], "{parts:?}");
    }
    let legacy = ["a", "dd", ""].map(|name| {
        let call = json!({ "name": name, "arguments": if name.is_empty() { arguments } else { "" } });
        json!({ "choices": [{ "index": 0, "delta": { "function_call": call } }] })
    });
    let events: Vec<_> = legacy.into_iter().chain(chat_stream(&[])).collect();
    let done = assembled(&Dialect::openai_chat(), &events);
    assert_eq!(told(&done.calls)[0].1, "add");
    assert_eq!(message(&done)["function_call"], json!({ "name": "add", "arguments": arguments }));
    let item = |name: &str, arguments: &str| json!({ "type": "function_call", "call_id": "c", "name": name, "arguments": arguments, "status": "completed" });
    let events = [
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("a", "") }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item("add", arguments) }),
        json!({ "type": "response.completed", "response": { "status": "completed" } }),
    ];
    let done = assembled(&Dialect::openai_responses(), &events);
    assert_eq!((whole(&done.calls), codes(&done)), (vec![call("c", "add", arguments)], vec![]));
    let events = [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "c", "name": "a", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "name_delta", "name": "dd" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": arguments } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ];
    let done = assembled(&Dialect::anthropic(), &events);
    assert_eq!((whole(&done.calls), codes(&done)), (vec![call("c", "add", arguments)], vec![]));
    assert_eq!(message(&done)["content"][0]["name"], "add");
}

#[test]
fn a_call_of_a_chat_without_its_object_is_read_by_its_members() {
    let sent =
        json!({ "id": "c", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1}" } });
    let odd = [
        json!({ "id": "c", "type": "function", "name": "add", "arguments": "{\"a\":1}" }),
        json!({ "id": "c", "name": "add", "arguments": "{\"a\":1}" }),
        json!({ "id": "c", "type": "function", "function": null, "name": "add", "arguments": "{\"a\":1}" }),
        json!({ "id": "c", "type": "function", "function": "add", "arguments": "{\"a\":1}" }),
        json!({ "id": "c", "type": "function", "function": { "name": "add" }, "arguments": "{\"a\":1}" }),
        json!({ "id": "c", "type": "function", "name": "add", "function": { "arguments": "{\"a\":1}" } }),
        json!({ "id": "c", "type": "function", "name": "add", "arguments": { "a": 1 } }),
    ];
    for call in odd {
        let mut part = call.clone();
        part["index"] = 0.into();
        // A single call in place of the list.
        let single = chat_message(json!({ "role": "assistant", "tool_calls": call }));
        let whole_response = chat_message(json!({ "role": "assistant", "tool_calls": [call] }));
        let dialect = Dialect::openai_chat();
        for done in [
            read(&dialect, &single),
            read(&dialect, &whole_response),
            assembled(&dialect, &chat_stream(&[part])),
        ] {
            assert_eq!(told(&done.calls), [super::call("c", "add", "{\"a\":1}")], "{call}");
            assert_eq!(message(&done)["tool_calls"], json!([sent]), "{call}");
            assert_eq!(codes(&done), [""; 0], "{call}");
        }
    }
    // In several parts, and for a tool with free text.
    let parts = [
        json!({ "index": 0, "id": "c", "type": "function", "name": "add", "arguments": "" }),
        json!({ "index": 0, "arguments": "{\"a\"" }),
        json!({ "index": 0, "arguments": ":1}" }),
    ];
    let done = assembled(&Dialect::openai_chat(), &chat_stream(&parts));
    assert_eq!(message(&done)["tool_calls"], json!([sent]));
    let custom = json!({ "id": "c", "type": "custom", "name": "run", "input": "1 + 1" });
    let done = read(&Dialect::openai_chat(), &chat_message(json!({ "tool_calls": [custom] })));
    let sent = json!({ "id": "c", "type": "custom", "custom": { "name": "run", "input": "1 + 1" } });
    assert_eq!(message(&done)["tool_calls"], json!([sent]));
}

#[test]
fn blocks_without_a_type_are_read_by_their_members() {
    let odd = [
        json!({ "text": "I add." }),
        json!({ "type": null, "id": "c", "name": "add", "input": { "a": 1 } }),
        json!({ "thinking": "Hm.", "signature": "s" }),
        json!({ "id": "srvtoolu_1", "name": "web_search", "input": {} }),
        json!({ "future": 1 }),
        json!(null),
        json!(5),
    ];
    let sent = json!([
        { "text": "I add.", "type": "text" },
        { "type": "tool_use", "id": "c", "name": "add", "input": { "a": 1 } },
        { "thinking": "Hm.", "signature": "s", "type": "thinking" },
        { "id": "srvtoolu_1", "name": "web_search", "input": {}, "type": "server_tool_use" },
    ]);
    let dialect = Dialect::anthropic();
    for done in [read(&dialect, &anthropic_message(json!(odd))), assembled(&dialect, &anthropic_stream(&odd))]
    {
        assert_eq!(whole(&done.calls), [call("c", "add", "{\"a\":1}")]);
        assert_eq!((&*done.text, &*done.reasoning), ("I add.", "Hm."));
        assert_eq!(message(&done)["content"], sent);
        assert!(!codes(&done).is_empty() && codes(&done).iter().all(|code| *code == "unreadable_part"));
    }
    // A text in place of the blocks, or of one; no content at all.
    for content in [json!("Hello."), json!(["Hello."])] {
        let done = read(&dialect, &anthropic_message(content));
        assert_eq!(message(&done)["content"], json!([{ "type": "text", "text": "Hello." }]));
    }
    let done = read(&dialect, &anthropic_message(json!(null)));
    assert_eq!((done.message.is_none(), codes(&done)), (true, vec!["unreadable_part"]));
}

#[test]
fn events_of_anthropic_without_a_type_or_a_beginning_are_read_by_their_members() {
    let events = [
        json!({ "message": { "role": "assistant", "usage": { "input_tokens": 3 } } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "text": "I " } }),
        json!({ "index": 0, "delta": { "type": "text_delta", "text": "add." } }),
        json!({ "index": 1, "content_block": { "id": "c", "name": "add", "input": {} } }),
        json!({ "index": 1, "delta": { "partial_json": "{\"a\":1}" } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "content_block_delta", "index": 9, "delta": { "type": "input_json_delta", "partial_json": "{" } }),
        json!({ "later": 1 }),
        json!({ "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ];
    let done = assembled(&Dialect::anthropic(), &events);
    assert_eq!(whole(&done.calls), [call("c", "add", "{\"a\":1}")]);
    assert_eq!((&*done.text, done.usage.and_then(|usage| usage.input)), ("I add.", Some(3)));
    assert_eq!(codes(&done), ["unreadable_part"; 2]);
}

#[test]
fn items_without_a_type_are_read_by_their_members() {
    let odd = [
        json!({ "id": "rs", "summary": [{ "type": "summary_text", "text": "Hm." }] }),
        json!({ "role": "assistant", "content": [{ "type": "output_text", "text": "I add." }] }),
        json!({ "call_id": "c", "name": "add", "arguments": "{\"a\":1}" }),
        json!({ "call_id": "d", "name": "run", "input": "1 + 1" }),
        json!({ "future": 1 }),
        json!(5),
    ];
    let dialect = Dialect::openai_responses();
    for done in
        [read(&dialect, &responses_message(&json!(odd))), assembled(&dialect, &responses_stream(&odd))]
    {
        assert_eq!(whole(&done.calls), [call("c", "add", "{\"a\":1}"), call("d", "run", "1 + 1")]);
        assert_eq!((&*done.text, &*done.reasoning), ("I add.", "Hm."));
        let types: Vec<_> =
            message(&done).as_array().unwrap().iter().map(|item| item["type"].clone()).collect();
        assert_eq!(json!(types), json!(["reasoning", "message", "function_call", "custom_tool_call"]));
        assert!(!codes(&done).is_empty() && codes(&done).iter().all(|code| *code == "unreadable_part"));
    }
}

#[test]
fn parts_of_gemini_that_are_no_objects_cost_themselves() {
    let parts = json!([5, "text", { "functionCall": "add" }, { "text": "I add." }, { "functionCall": { "name": "add", "args": { "a": 1 } } }]);
    let dialect = Dialect::gemini();
    for done in [read(&dialect, &gemini_message(&parts)), assembled(&dialect, &[gemini_message(&parts)])] {
        assert_eq!((&*done.text, told(&done.calls).len()), ("I add.", 1));
        assert_eq!(message(&done)["parts"].as_array().unwrap().len(), 2);
        assert_eq!(codes(&done), ["unreadable_part"; 3]);
    }
    let done = read(&dialect, &gemini_message(&json!({ "text": "x" })));
    assert_eq!((done.calls.len(), codes(&done)), (0, vec!["unreadable_part"]));
}

#[test]
fn an_unreadable_stop_reason_costs_the_last_call_alone() {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "add", "arguments": "{\"a\":1}" } });
    let mut response = chat_message(json!({ "tool_calls": [call("1"), call("2")] }));
    response["choices"][0]["finish_reason"] = json!({ "type": "tool_calls" });
    let done = read(&Dialect::openai_chat(), &response);
    assert_eq!(whole(&done.calls), [super::call("1", "add", "{\"a\":1}")]);
    assert_eq!((done.truncated, codes(&done)), (true, vec!["unreadable_part"]));
    let mut response = anthropic_message(json!([{ "type": "text", "text": "Hi." }]));
    response["stop_reason"] = 1.into();
    let done = read(&Dialect::anthropic(), &response);
    assert_eq!((&*done.text, codes(&done)), ("Hi.", vec!["unreadable_part"]));
}

#[test]
fn a_choice_without_a_message_costs_itself() {
    let response = json!({ "choices": [
        { "index": 0, "message": null },
        { "index": 1, "message": { "role": "assistant", "content": "Hi." }, "finish_reason": "stop" },
    ]});
    let done = read(&Dialect::openai_chat(), &response);
    assert_eq!((&*done.text, codes(&done)), ("Hi.", vec!["unreadable_part"]));
}

#[test]
fn an_end_whose_items_cannot_be_read_keeps_what_the_stream_said() {
    let item = json!({ "type": "function_call", "id": "i", "call_id": "c", "name": "add", "arguments": "{}", "status": "completed" });
    let mut events = responses_stream(std::slice::from_ref(&item));
    assert_eq!(codes(&assembled(&Dialect::openai_responses(), &events)), [""; 0]);
    if let Some(end) = events.last_mut() {
        end["response"]["output"] = json!("x");
    }
    let response = assembled(&Dialect::openai_responses(), &events);
    assert_eq!(whole(&response.calls), [call("c", "add", "{}")]);
    assert_eq!(codes(&response).len(), 1, "{:?}", response.diagnostics);
}

#[test]
fn a_choice_with_an_error_is_refused() {
    let error = json!({ "message": "Overloaded" });
    let response =
        json!({ "choices": [{ "error": error, "message": { "role": "assistant", "content": "Hi." } }] });
    let why = "/choices/0/error: expected calls, got an error of the provider: Overloaded";
    assert_eq!(refused(&Dialect::openai_chat(), &response), why);
}

#[test]
fn a_legacy_call_is_sent_back_with_its_arguments_as_a_text() {
    for (arguments, sent) in
        [(json!({ "a": 1 }), "{\"a\":1}"), (json!(""), "{}"), (json!("{\"a\": 1}"), "{\"a\": 1}")]
    {
        let function = json!({ "name": "add", "arguments": arguments });
        let done = read(
            &Dialect::openai_chat(),
            &chat_message(json!({ "role": "assistant", "function_call": function })),
        );
        assert_eq!(done.calls.len(), 1);
        assert_eq!(
            message(&done)["function_call"],
            json!({ "name": "add", "arguments": sent }),
            "{arguments}"
        );
    }
}

#[test]
fn each_delta_of_anthropic_without_a_type_is_known_by_its_member() {
    let delta =
        |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let events = [
        json!({ "type": "message_start", "message": { "role": "assistant" } }),
        delta(0, json!({ "thinking": "Hm." })),
        delta(0, json!({ "signature": "s" })),
        delta(1, json!({ "text": "I add." })),
        json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "tool_use", "id": "c", "name": "add", "input": {} } }),
        delta(2, json!({ "partial_json": "{\"a\":1}" })),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ];
    let done = assembled(&Dialect::anthropic(), &events);
    assert_eq!((&*done.text, &*done.reasoning, codes(&done)), ("I add.", "Hm.", vec![]));
    let sent = json!([
        { "type": "thinking", "thinking": "Hm.", "signature": "s" },
        { "type": "text", "text": "I add." },
        { "type": "tool_use", "id": "c", "name": "add", "input": { "a": 1 } },
    ]);
    assert_eq!(message(&done)["content"], sent);
}
