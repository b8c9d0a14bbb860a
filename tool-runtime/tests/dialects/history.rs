//! Calls that go back to their provider have the form of its requests, whatever form they came in.

use proptest::{collection::vec, option, prelude::*};
use serde_json::{Map, Value, json};
use tool_runtime::{ToolResult, dialect::Dialect};

use super::{
    assembled,
    assistant::{message, read},
    bound, call, told,
};

fn dialects() -> [Dialect; 4] {
    [Dialect::openai_chat(), Dialect::openai_responses(), Dialect::anthropic(), Dialect::gemini()]
}

/// Arguments that providers and servers send, and the object that goes back; `None` is an absent member.
fn odd_arguments() -> Vec<(Option<Value>, Value)> {
    let invalid = |text: &str| json!({ "INVALID_JSON": text });
    vec![
        (None, json!({})),
        (Some(Value::Null), json!({})),
        (Some(json!("")), json!({})),
        (Some(json!(" \n")), json!({})),
        (Some(json!("null")), json!({})),
        (Some(json!("{}")), json!({})),
        (Some(json!({})), json!({})),
        (Some(json!({ "a": 1 })), json!({ "a": 1 })),
        (Some(json!("[]")), invalid("[]")),
        (Some(json!([])), invalid("[]")),
        (Some(json!("\"{}\"")), invalid("\"{}\"")),
        (Some(json!(true)), invalid("true")),
        (Some(json!("{\"a\":1")), invalid("{\"a\":1")),
        (Some(json!("{'a': 1}")), invalid("{'a': 1}")),
    ]
}

/// Returns a whole response with one call.
fn response(dialect: &Dialect, name: &str, arguments: Option<Value>) -> Value {
    let call = |mut call: Value, member: &str| {
        if let Some(arguments) = arguments.clone() {
            call[member] = arguments;
        }
        call
    };
    match dialect.name() {
        "openai-chat" => {
            let function = call(json!({ "name": name }), "arguments");
            let calls = json!([{ "id": "call_1", "type": "function", "function": function }]);
            let message = json!({ "role": "assistant", "content": null, "tool_calls": calls });
            json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] })
        }
        "openai-responses" => {
            let item =
                json!({ "type": "function_call", "call_id": "call_1", "name": name, "status": "completed" });
            json!({ "status": "completed", "output": [call(item, "arguments")] })
        }
        "anthropic" => {
            let block = call(json!({ "type": "tool_use", "id": "call_1", "name": name }), "input");
            json!({ "role": "assistant", "content": [block], "stop_reason": "tool_use" })
        }
        _ => {
            let part = json!({ "functionCall": call(json!({ "name": name }), "args") });
            json!({ "candidates": [{ "content": { "role": "model", "parts": [part] }, "finishReason": "STOP" }] })
        }
    }
}

/// Returns the events of a stream with one call, whose arguments arrive as they are.
fn events(dialect: &Dialect, name: &str, arguments: Option<Value>) -> Vec<Value> {
    let whole = response(dialect, name, arguments.clone());
    match dialect.name() {
        "openai-chat" => {
            let mut call = whole["choices"][0]["message"]["tool_calls"][0].clone();
            call["index"] = 0.into();
            let delta = json!({ "role": "assistant", "tool_calls": [call] });
            vec![
                json!({ "choices": [{ "index": 0, "delta": delta }] }),
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
            ]
        }
        "openai-responses" => {
            let item = &whole["output"][0];
            let mut begun = item.clone();
            begun["arguments"] = "".into();
            begun["status"] = "in_progress".into();
            vec![
                json!({ "type": "response.output_item.added", "output_index": 0, "item": begun }),
                json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
                json!({ "type": "response.completed", "response": whole }),
            ]
        }
        "anthropic" => {
            let mut block = whole["content"][0].clone();
            let mut events = Vec::new();
            if let Some(Value::String(text)) = &arguments {
                block["input"] = json!({});
                let delta = json!({ "type": "input_json_delta", "partial_json": text });
                events.push(json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
            }
            events.insert(0, json!({ "type": "content_block_start", "index": 0, "content_block": block }));
            events.push(json!({ "type": "content_block_stop", "index": 0 }));
            events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }));
            events.push(json!({ "type": "message_stop" }));
            events
        }
        _ => vec![whole],
    }
}

/// Returns name and arguments of the only call of a message, if the message has the form of a request.
#[track_caller]
fn sent_call(dialect: &Dialect, message: &Value) -> (String, Value) {
    let object = |text: &Value| {
        let text = text.as_str().expect("arguments are a text");
        serde_json::from_str::<Map<String, Value>>(text).map(Value::Object).expect("arguments are an object")
    };
    let (call, arguments) = match dialect.name() {
        "openai-chat" => {
            assert_eq!(message["role"], "assistant");
            let call = &message["tool_calls"][0];
            assert_eq!(call["type"], "function");
            assert!(call["id"].is_string() && call.get("index").is_none(), "{call}");
            (&call["function"], object(&call["function"]["arguments"]))
        }
        "openai-responses" => {
            let item = &message[0];
            assert!(item["call_id"].is_string(), "{item}");
            (item, object(&item["arguments"]))
        }
        "anthropic" => {
            assert_eq!(message["role"], "assistant");
            (&message["content"][0], message["content"][0]["input"].clone())
        }
        _ => {
            assert_eq!(message["role"], "model");
            let call = &message["parts"][0]["functionCall"];
            (call, call.get("args").cloned().unwrap_or_else(|| json!({})))
        }
    };
    let name = call["name"].as_str().expect("a name").to_owned();
    let allows = |it: char| {
        it.is_ascii_alphanumeric() || "_-".contains(it) || dialect.name() == "gemini" && ".:".contains(it)
    };
    assert!(
        !name.is_empty()
            && name.len() <= if dialect.name() == "anthropic" { 128 } else { 64 }
            && name.chars().all(allows),
        "{name}"
    );
    assert!(arguments.is_object(), "{arguments}");
    (name, arguments)
}

#[test]
fn arguments_go_back_as_the_object_that_the_provider_requires() {
    for dialect in dialects() {
        for (arguments, expected) in odd_arguments() {
            let case = format!("{}: {arguments:?}", dialect.name());
            let whole = read(&dialect, &response(&dialect, "add", arguments.clone()));
            assert_eq!(sent_call(&dialect, &message(&whole)), ("add".to_owned(), expected.clone()), "{case}");
            let streamed = assembled(&dialect, &events(&dialect, "add", arguments.clone()));
            assert_eq!(
                sent_call(&dialect, &message(&streamed)),
                ("add".to_owned(), expected),
                "streamed, {case}"
            );
        }
    }
}

#[test]
fn arguments_that_a_provider_may_omit_are_not_added() {
    let gemini = Dialect::gemini();
    let sent = message(&read(&gemini, &response(&gemini, "now", None)));
    assert!(sent["parts"][0]["functionCall"].get("args").is_none(), "{sent}");
    let chat = Dialect::openai_chat();
    let sent = message(&read(&chat, &response(&chat, "now", None)));
    assert_eq!(sent["tool_calls"][0]["function"]["arguments"], "{}");
}

#[test]
fn names_go_back_as_the_provider_accepts_them() {
    for dialect in dialects() {
        for name in ["functions.now:0", "", "null", "with space", "naïve", &"x".repeat(200), "<|call|>add"] {
            let case = format!("{}: {name}", dialect.name());
            for done in [
                read(&dialect, &response(&dialect, name, Some(json!("{}")))),
                assembled(&dialect, &events(&dialect, name, Some(json!("{}")))),
            ] {
                let (sent, _) = sent_call(&dialect, &message(&done));
                // The result of the call has the same name.
                let bound = bound(&dialect);
                assert_eq!(bound.wire_name(&done.calls[0].name), sent, "{case}");
                let result = ToolResult::new(done.calls[0].id.clone(), &*done.calls[0].name, Ok("".into()));
                let results = bound.results(&[result]).to_string();
                assert!(
                    dialect.name() != "gemini" || results.contains(&format!("\"{sent}\"")),
                    "{case}: {results}"
                );
            }
        }
    }
}

/// Returns the calls of a chat stream with these parts, and the assistant message.
#[track_caller]
fn streamed_calls(parts: &[Value]) -> (Vec<(String, String, String)>, Value) {
    let event = |part: &Value| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [part] } }] });
    let mut events: Vec<_> = parts.iter().map(event).collect();
    events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }));
    let done = assembled(&Dialect::openai_chat(), &events);
    (told(&done.calls), message(&done))
}

#[test]
fn the_parts_of_an_index_are_one_call_whatever_part_has_its_name() {
    let part = |id: Value, name: Value, arguments: Value| json!({ "index": 0, "id": id, "function": { "name": name, "arguments": arguments } });
    let rome = || json!("{\"city\":\"Rome\"}");
    let streams = [
        // A later part with the name `null`, as a text.
        vec![
            part(json!("1"), json!("add"), json!("")),
            part(Value::Null, json!("null"), json!("{\"city\":")),
            part(json!("null"), json!("null"), json!("\"Rome\"}")),
        ],
        vec![part(json!("1"), json!(""), json!("")), part(json!(""), json!("add"), rome())],
        vec![part(json!("1"), Value::Null, json!("")), part(Value::Null, json!("add"), rome())],
        vec![
            part(json!("1"), json!(""), json!("{\"city\":")),
            part(json!("1"), json!("add"), json!("\"Rome\"}")),
        ],
        vec![part(json!("1"), json!("null"), rome()), part(json!("1"), json!("add"), json!(""))],
        // Arguments without content before the first part of the text.
        vec![part(json!("1"), json!("add"), json!("{}")), part(Value::Null, Value::Null, rome())],
        vec![part(json!("1"), json!("add"), json!({})), part(Value::Null, Value::Null, rome())],
        vec![part(json!("1"), json!("add"), json!("null")), part(json!("1"), json!("add"), rome())],
        vec![part(json!("1"), json!("add"), Value::Null), part(Value::Null, Value::Null, rome())],
        vec![part(json!("1"), json!("add"), rome()), part(Value::Null, json!(""), json!(""))],
        vec![part(json!("1"), json!("add"), json!("{ }")), part(Value::Null, Value::Null, rome())],
        // An id of its own in each part.
        vec![part(json!("1"), json!("add"), json!("")), part(json!("2"), Value::Null, rome())],
        vec![
            part(json!("1"), json!("add"), json!("{\"city\":")),
            part(json!("2"), Value::Null, json!("\"Ro")),
            part(json!("3"), json!(""), json!("me\"}")),
        ],
    ];
    for parts in streams {
        let (calls, message) = streamed_calls(&parts);
        assert_eq!(calls, [call("1", "add", "{\"city\":\"Rome\"}")], "{parts:?}");
        let function = json!({ "name": "add", "arguments": rome() });
        assert_eq!(
            message["tool_calls"],
            json!([{ "id": "1", "type": "function", "function": function }]),
            "{parts:?}"
        );
    }
}

#[test]
fn a_call_without_a_name_costs_itself_alone() {
    let parts = [
        json!({ "index": 0, "id": "1", "function": { "arguments": "{}" } }),
        json!({ "index": 1, "id": 2, "function": { "name": "add", "arguments": "{\"a\":1}" } }),
    ];
    let (calls, message) = streamed_calls(&parts);
    assert_eq!(calls, [call("1", "", "{}"), call("2", "add", "{\"a\":1}")]);
    let (name, _) = sent_call(&Dialect::openai_chat(), &message);
    assert!(!name.is_empty());
    for dialect in dialects() {
        let read = read(&dialect, &response(&dialect, "", Some(json!("{}"))));
        assert_eq!(read.calls[0].name, "", "{}", dialect.name());
    }
}

#[test]
fn the_id_of_a_call_goes_back_as_its_result_names_it() {
    for dialect in dialects() {
        for id in [json!("null"), json!(" "), json!(""), json!(7), json!({}), Value::Null] {
            let mut whole = response(&dialect, "add", Some(json!("{}")));
            match dialect.name() {
                "openai-chat" => whole["choices"][0]["message"]["tool_calls"][0]["id"] = id.clone(),
                "openai-responses" => whole["output"][0]["call_id"] = id.clone(),
                "anthropic" => whole["content"][0]["id"] = id.clone(),
                _ => whole["candidates"][0]["content"]["parts"][0]["functionCall"]["id"] = id.clone(),
            }
            let mut responses = vec![read(&dialect, &whole)];
            if dialect.name() == "gemini" {
                responses.push(assembled(&dialect, &[whole]));
            }
            for done in responses {
                let message = message(&done);
                let own = done.calls[0].id.to_string();
                let sent = match dialect.name() {
                    "openai-chat" => &message["tool_calls"][0]["id"],
                    "openai-responses" => &message[0]["call_id"],
                    "anthropic" => &message["content"][0]["id"],
                    _ => &message["parts"][0]["functionCall"]["id"],
                };
                let is_absent = dialect.name() == "gemini" && sent.is_null();
                assert!(is_absent || *sent == json!(own), "{}: {id}: {message}", dialect.name());
            }
        }
    }
}

#[test]
fn whole_arguments_at_the_end_do_not_double_or_revoke_those_before() {
    let item = |arguments: Value| json!({ "type": "function_call", "call_id": "1", "name": "add", "arguments": arguments, "status": "completed" });
    for complete in
        [json!("{\"a\":1}"), json!({ "a": 1 }), json!({}), json!("{}"), json!(""), json!("null"), Value::Null]
    {
        let events = [
            json!({ "type": "response.output_item.added", "output_index": 0, "item": item(json!("")) }),
            json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"a\":1}" }),
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item(complete.clone()) }),
            json!({ "type": "response.completed", "response": { "status": "completed", "output": [] } }),
        ];
        let done = assembled(&Dialect::openai_responses(), &events);
        assert_eq!(told(&done.calls), [call("1", "add", "{\"a\":1}")], "{complete}");
    }
    // The parts of Anthropic are the whole input.
    let events = [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "1", "name": "add", "input": { "a": 1 } } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "{\"a\":" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "1}" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ];
    let done = assembled(&Dialect::anthropic(), &events);
    assert_eq!(told(&done.calls), [call("1", "add", "{\"a\":1}")]);
    assert_eq!(message(&done)["content"][0]["input"], json!({ "a": 1 }));
}

#[test]
fn items_that_are_no_calls_cost_themselves_alone() {
    let function = |name: &str| json!({ "id": "1", "type": "function", "function": { "name": name, "arguments": "{}" } });
    let read_calls = |calls: Value| {
        let message = json!({ "role": "assistant", "content": "Hi.", "tool_calls": calls });
        read(
            &Dialect::openai_chat(),
            &json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] }),
        )
    };
    for calls in [json!({}), json!(""), json!([null]), json!([])] {
        let done = read_calls(calls.clone());
        assert_eq!(done.calls.len(), 0, "{calls}");
        assert_eq!(done.text, "Hi.", "{calls}");
    }
    let done = read_calls(json!([null, function("add"), "x"]));
    assert_eq!(done.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["add", ""]);
    let sent = message(&done)["tool_calls"].clone();
    assert_eq!(sent.as_array().unwrap().len(), 2, "{sent}");
    for call in sent.as_array().unwrap() {
        let (id, name) = (call["id"].as_str().unwrap(), call["function"]["name"].as_str().unwrap());
        assert!(!id.is_empty() && !name.is_empty() && call["function"]["arguments"] == "{}", "{sent}");
    }
    // The type decides, and a member without content is none.
    let mut both = function("add");
    both["custom"] = json!({});
    assert_eq!(told(&read_calls(json!([both])).calls), [call("1", "add", "{}")]);
    both.as_object_mut().unwrap().remove("type");
    assert_eq!(told(&read_calls(json!([both])).calls), [call("1", "add", "{}")]);
    // Free text that is absent is an empty text.
    let item = json!({ "type": "custom_tool_call", "call_id": "1", "name": "run", "input": null });
    let done = read(&Dialect::openai_responses(), &json!({ "status": "completed", "output": [item] }));
    assert_eq!(message(&done)[0]["input"], "");
}

#[test]
fn the_list_of_a_stream_is_a_whole_response() {
    let chunk = |part: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": [part] } }] });
    let mut last = chunk(json!({ "functionCall": { "name": "add", "args": { "a": 1 } } }));
    last["candidates"][0]["finishReason"] = "STOP".into();
    let done = read(
        &Dialect::gemini(),
        &json!([chunk(json!({ "text": "I " })), chunk(json!({ "text": "add." })), last]),
    );
    assert_eq!((done.text.as_str(), done.calls.len()), ("I add.", 1));
    assert_eq!(
        message(&done)["parts"],
        json!([{ "text": "I add." }, { "functionCall": { "name": "add", "args": { "a": 1 } } }])
    );
    let failed = json!([chunk(json!({ "text": "I " })), { "error": { "code": 429, "message": "quota" } }]);
    assert!(bound(&Dialect::gemini()).read(&failed).unwrap_err().to_string().contains("quota"));
}

#[test]
fn an_empty_error_beside_a_response_is_none() {
    for error in [json!(null), json!(""), json!({}), json!(false)] {
        for dialect in dialects() {
            let mut whole = response(&dialect, "add", Some(json!("{}")));
            whole["error"] = error.clone();
            assert_eq!(read(&dialect, &whole).calls.len(), 1, "{}: {error}", dialect.name());
        }
    }
}

/// Values that stand where a provider sends arguments: texts of JSON, other texts, and values.
fn arguments() -> impl Strategy<Value = Option<Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[\\PC\\n\"{}:,\\[\\]]{0,12}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-z]{0,3}", inner), 0..3)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    });
    let text = (value.clone(), 0..3_usize, any::<prop::sample::Index>()).prop_map(|(value, cut, at)| {
        let mut text = value.to_string();
        if cut == 0 && !text.is_empty() {
            let at = text.char_indices().map(|(at, _)| at).nth(at.index(text.chars().count())).unwrap_or(0);
            text.truncate(at);
        }
        Value::from(text)
    });
    option::of(prop_oneof![value, text])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_call_goes_back_in_the_form_of_a_request(
        name in prop_oneof!["add", "\\PC{0,80}", "[a-z.:]{0,20}"],
        arguments in arguments(),
    ) {
        for dialect in dialects() {
            let done = [
                read(&dialect, &response(&dialect, &name, arguments.clone())),
                assembled(&dialect, &events(&dialect, &name, arguments.clone())),
            ];
            for done in done {
                prop_assert_eq!(done.calls.len(), 1, "{}", dialect.name());
                let (sent, value) = sent_call(&dialect, &message(&done));
                if let Ok(Value::Object(own)) = serde_json::from_str(done.calls[0].arguments.as_str()) {
                    prop_assert_eq!(value, Value::Object(own), "{}", dialect.name());
                }
                // A message that already has the form of a request is not changed by reading it again.
                let again = match dialect.name() {
                    "openai-chat" => json!({ "choices": [{ "index": 0, "message": message(&done), "finish_reason": "tool_calls" }] }),
                    "openai-responses" => json!({ "status": "completed", "output": message(&done) }),
                    "anthropic" => json!({ "role": "assistant", "content": message(&done)["content"], "stop_reason": "tool_use" }),
                    _ => json!({ "candidates": [{ "content": message(&done), "finishReason": "STOP" }] }),
                };
                let again = read(&dialect, &again);
                prop_assert_eq!(message(&again), message(&done), "{}", dialect.name());
                prop_assert!(bound(&dialect).tool_name(&sent).len() <= 128);
            }
        }
    }
}

#[test]
fn wrapped_arguments_go_back_wrapped_whatever_form_they_came_in() {
    let dialect = Dialect::openai_chat();
    let circle = json!({ "shape": "circle", "radius": 1.0 });
    let wrapped = json!({ "arguments": circle });
    for arguments in [json!(wrapped.to_string()), wrapped.clone()] {
        let read = read(&dialect, &response(&dialect, "draw", Some(arguments)));
        assert_eq!(told(&read.calls), [call("call_1", "draw", &circle.to_string())]);
        let sent = message(&read)["tool_calls"][0]["function"]["arguments"].as_str().unwrap().to_owned();
        assert_eq!(serde_json::from_str::<Value>(&sent).unwrap(), wrapped);
    }
    // Those of other tools, and those that are no object, within.
    let broken = read(&dialect, &response(&dialect, "draw", Some(json!([1]))));
    let sent = message(&broken)["tool_calls"][0]["function"]["arguments"].clone();
    assert_eq!(sent, json!({ "arguments": { "INVALID_JSON": "[1]" } }).to_string());
    let plain = read(&dialect, &response(&dialect, "add", Some(json!({ "a": 1 }))));
    assert_eq!(message(&plain)["tool_calls"][0]["function"]["arguments"], json!({ "a": 1 }).to_string());
}
