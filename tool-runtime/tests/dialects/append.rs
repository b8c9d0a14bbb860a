//! The next request: the previous messages, the assistant message, and the results of its calls.

use serde_json::Value;
use tool_runtime::{
    CallOutcome, Content, Executor, Registry, ToolCall, ToolDefinition, ToolName, ToolResult,
    builder::ExternalTool,
    call::ResultMessage,
    dialect::{AssembledResponse, BoundTools, Dialect, RequestBody},
    prelude::*,
    schema::InputSchema,
    serde_json,
};

use super::{
    add, assembled,
    assistant::{blocks, message},
    pieces, recorded,
    world::write,
};

/// Returns a tool with a body, and an external tool.
fn tools() -> Registry {
    let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
    let asked = ToolDefinition::new(ToolName::new("ask").unwrap(), "Asks a person.", schema);
    Registry::builder().tool::<add>().add(ExternalTool::new(asked).external()).build().unwrap()
}

/// Returns a response with two calls, of which the first is external.
fn response(dialect: &str) -> Value {
    let texts = ["{\"a\":2,\"b\":3}", "{}"];
    match dialect {
        "openai-chat" | "openai-chat-strict" => {
            let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
            let calls = json!([call("1", "ask", texts[1]), call("2", "add", texts[0])]);
            let message = json!({ "role": "assistant", "content": null, "tool_calls": calls });
            json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] })
        }
        "openai-responses" | "openai-responses-strict" => {
            let call = |id: &str, name: &str, arguments: &str| json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments });
            let thought =
                json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" });
            let output = json!([thought, call("1", "ask", texts[1]), call("2", "add", texts[0])]);
            json!({ "status": "completed", "output": output })
        }
        "gemini" | "gemini-schema" => {
            let call = |id: &str, name: &str, args: Value| json!({ "functionCall": { "id": id, "name": name, "args": args } });
            let parts = json!([call("1", "ask", json!({})), call("2", "add", json!({ "a": 2, "b": 3 }))]);
            json!({ "candidates": [{ "content": { "parts": parts, "role": "model" }, "finishReason": "STOP" }] })
        }
        _ => {
            let call = |id: &str, name: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
            let content = json!([call("1", "ask", json!({})), call("2", "add", json!({ "a": 2, "b": 3 }))]);
            json!({ "role": "assistant", "content": content, "stop_reason": "tool_use" })
        }
    }
}

fn list(dialect: &str) -> &'static str {
    match dialect {
        "openai-responses" | "openai-responses-strict" => "input",
        "gemini" | "gemini-schema" => "contents",
        _ => "messages",
    }
}

fn with_messages() -> impl Iterator<Item = Dialect> {
    Dialect::all().into_iter().filter(|dialect| dialect.name() != "mcp")
}

fn begun(bound: &BoundTools, dialect: &str) -> RequestBody {
    bound.body(json!({ "first": 1, list(dialect): [{ "role": "user" }], "last": 2 })).unwrap()
}

/// Returns the messages of a body.
fn messages(body: &RequestBody, dialect: &str) -> Vec<Value> {
    serde_json::to_value(body).unwrap()[list(dialect)].as_array().unwrap().clone()
}

/// Returns the messages that `append` adds.
fn message_list(messages: Value) -> Vec<Value> {
    match messages {
        Value::Array(all) => all,
        one => vec![one],
    }
}

// D04, D12
#[tokio::test]
async fn a_message_and_its_results_are_appended_in_the_order_of_the_calls() {
    for dialect in with_messages() {
        let name = dialect.name();
        let bound = dialect.bind_tools(&tools());
        let read = bound.read(&response(name)).unwrap();
        let executor = Executor::new(tools());
        let mut outcomes = executor.run(read.calls.clone()).await;
        assert!(matches!(outcomes[0], CallOutcome::External(..)), "{name}");

        // An open call has no result.
        let mut body = begun(&bound, name);
        bound.append(&mut body, &read, &outcomes);
        let done = outcomes[1].result().unwrap().clone();
        let mut expected = vec![json!({ "role": "user" })];
        expected.extend(message_list(message(&read)));
        expected.extend(message_list(bound.results(std::slice::from_ref(&done))));
        assert_eq!(messages(&body, name), expected, "{name}");

        let answer = executor
            .submit_result(outcomes[0].address().unwrap(), Ok(ToolOutput::from("yes")))
            .await
            .unwrap();
        outcomes[0] = CallOutcome::Finished(answer.clone());
        let mut body = begun(&bound, name);
        bound.append(&mut body, &read, &outcomes);
        expected.truncate(1 + message_list(message(&read)).len());
        expected.extend(message_list(bound.results(&[answer, done])));
        assert_eq!(messages(&body, name), expected, "{name}");
        let text = serde_json::to_string(&body).unwrap();
        assert!(text.starts_with(r#"{"first":1,"#) && text.ends_with(r#","last":2}"#), "{name}: {text}");
    }
}

// D16
#[test]
fn messages_that_replace_a_result_are_appended_after_the_results() {
    let result = |id: &str| ToolResult::new(id.to_owned().into(), "add", Ok(ToolOutput::from("5")));
    let mut shown = result("1");
    let sky = [
        Content::text("The sky:"),
        Content::image(*b"png", "image/png"),
        Content::audio(*b"PK", "application/zip"),
    ];
    let messages = vec![
        ResultMessage::user(sky),
        ResultMessage::answer("1", [Content::text("see below")]),
        ResultMessage::user([Content::text("Blue?")]),
    ];
    assert!(shown.replace_by(messages));
    let not_shown = "[application/zip, 2 bytes: not shown, the provider does not accept this type of file]";
    for dialect in Dialect::all() {
        let name = dialect.name();
        let bound = dialect.bind_tools(&tools());
        let results = bound.results(&[shown.clone(), result("2")]);
        let text = |text: &str| json!({ "type": "text", "text": text });
        let (at, expected) = match name {
            "openai-chat" | "openai-chat-strict" => {
                let url =
                    json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,cG5n" } });
                let parts = json!([text("The sky:"), url, text(not_shown)]);
                let blue = json!({ "role": "user", "content": [text("Blue?")] });
                (results.as_array().unwrap(), vec![json!({ "role": "user", "content": parts }), blue])
            }
            "openai-responses" | "openai-responses-strict" => {
                let text = |text: &str| json!({ "type": "input_text", "text": text });
                let url = json!({ "type": "input_image", "image_url": "data:image/png;base64,cG5n" });
                let parts = json!([text("The sky:"), url, text(not_shown)]);
                let blue = json!({ "role": "user", "content": [text("Blue?")] });
                (results.as_array().unwrap(), vec![json!({ "role": "user", "content": parts }), blue])
            }
            "gemini" | "gemini-schema" => {
                let data = json!({ "inlineData": { "mimeType": "image/png", "data": "cG5n" } });
                let parts = vec![
                    json!({ "text": "The sky:" }),
                    data,
                    json!({ "text": not_shown }),
                    json!({ "text": "Blue?" }),
                ];
                (results["parts"].as_array().unwrap(), parts)
            }
            "mcp" => {
                assert_eq!(results[1]["content"], json!([text("5")]), "other results are unchanged");
                let image = json!({ "type": "image", "data": "cG5n", "mimeType": "image/png" });
                let audio = json!({ "type": "audio", "data": "UEs=", "mimeType": "application/zip" });
                let parts = vec![text("see below"), text("The sky:"), image, audio, text("Blue?")];
                assert_eq!(results[0]["content"], json!(parts));
                continue;
            }
            _ => {
                let source = json!({ "type": "base64", "media_type": "image/png", "data": "cG5n" });
                let image = json!({ "type": "image", "source": source });
                let parts = vec![text("The sky:"), image, text(not_shown), text("Blue?")];
                (results["content"].as_array().unwrap(), parts)
            }
        };
        // One result for each call, and then the messages.
        assert_eq!(at.len(), 2 + expected.len(), "{name}: {results}");
        assert!(at[0].to_string().contains("see below"), "{name}");
        assert_eq!(at[2..], expected[..], "{name}");

        // `append` includes them.
        if let Ok(mut body) = bound.body(json!({})) {
            let outcomes = [CallOutcome::Finished(shown.clone()), CallOutcome::Finished(result("2"))];
            bound.append(&mut body, &bound.read(&response(name)).unwrap(), &outcomes);
            let all = serde_json::to_string(&body).unwrap();
            assert!(all.contains("Blue?") && all.contains("cG5n"), "{name}");
        }
    }
}

/// Written to `target/tmp/exports`, where `tests/providers/check.py` validates it with the types of the SDKs.
#[test]
fn recorded_responses_are_exported_as_conversations() {
    for dialect in with_messages() {
        let name = dialect.name();
        let provider = name.trim_end_matches("-strict").trim_end_matches("-schema");
        let bound = dialect.bind_tools(&tools());
        let mut fields = json!({ "model": "some" });
        if provider == "anthropic" {
            fields["max_tokens"] = json!(99);
        }
        fields = crate::run(bound.build_request(fields, tool_runtime::RunContext::new())).unwrap();
        let mut body = bound.body(fields).unwrap();
        let mut responses: Vec<_> = recorded::entries()
            .into_iter()
            .filter(|(dialect, ..)| dialect.name() == provider)
            // Beta: these blocks have separate types.
            .filter(|(_, name, _)| name != "anthropic: what a server runs")
            .map(|(dialect, _, of)| match of.get("response") {
                Some(response) => bound.read(response).unwrap(),
                None => assembled(&dialect, of["events"].as_array().unwrap()),
            })
            .collect();
        responses.extend((provider == "anthropic").then(|| assembled(&dialect, &blocks())));
        responses.extend((provider == "gemini").then(|| assembled(&dialect, &pieces::parts())));
        let count = responses.len();
        for response in responses {
            body.push(&match provider {
                "gemini" => json!({ "role": "user", "parts": [{ "text": "Go on." }] }),
                _ => json!({ "role": "user", "content": "Go on." }),
            })
            .unwrap();
            let result = |call: &ToolCall| {
                let output = Ok(ToolOutput::from("done"));
                CallOutcome::Finished(ToolResult::new(call.id.clone(), call.name.clone(), output))
            };
            bound.append(&mut body, &response, &response.calls.iter().map(result).collect::<Vec<_>>());
        }
        let mut request = serde_json::to_value(&body).unwrap();
        assert!(request[list(name)].as_array().unwrap().len() >= 2 * count, "{name}");
        for item in request[list(name)].as_array_mut().unwrap() {
            // The provider accepts it (<https://github.com/openai/openai-openapi/issues/492>), but its types do not.
            if item["type"] == "custom_tool_call" {
                item.as_object_mut().unwrap().shift_remove("status").unwrap();
            }
        }
        write("messages", name, &json!({ "request": request }));
    }
}

#[test]
fn a_response_without_calls_is_appended_alone_and_the_next_question_after_it() {
    let bound = Dialect::anthropic().bind_tools(&tools());
    let mut body = bound.body(json!({ "model": "claude" })).unwrap();
    body = crate::run(bound.build_request(body, tool_runtime::RunContext::new())).unwrap();
    body.push(&json!({ "role": "user", "content": "1.10?" })).unwrap();
    let text = r#"{"role":"assistant","content":[{"type":"text","text":"Yes.","score":1.10}]}"#;
    bound.append(&mut body, &bound.read(text).unwrap(), &[]);
    // Without an assistant message and results, nothing is added.
    let empty = bound.read(r#"{"role":"assistant","content":[]}"#).unwrap();
    assert!(empty.message.is_none());
    bound.append(&mut body, &empty, &[]);
    body.push(&json!({ "role": "user", "content": "And 2?" })).unwrap();
    let sent = serde_json::to_string(&body).unwrap();
    let expected = format!(
        r#""messages":[{{"role":"user","content":"1.10?"}},{text},{{"role":"user","content":"And 2?"}}],"#
    );
    assert!(sent.contains(&expected), "{sent}");
    assert_eq!(json!(body)["tools"][0]["name"], "add");
}

#[test]
fn a_body_without_messages_is_refused() {
    let refused = |dialect: Dialect, fields: Value| {
        dialect.bind_tools(&tools()).body(fields).err().map(|why| why.to_string()).unwrap_or_default()
    };
    assert_eq!(refused(Dialect::anthropic(), json!(1)), "the root: expected an object, got a number");
    assert_eq!(
        refused(Dialect::gemini(), json!({ "contents": {} })),
        "/contents: expected a list, got an object"
    );
    assert_eq!(
        refused(Dialect::openai_chat(), json!({ "messages": "Hi." })),
        "/messages: expected a list, got a text"
    );
    assert_eq!(
        refused(Dialect::mcp(), json!({})),
        "the root: expected a dialect whose requests have messages, got an object"
    );
    // The Responses API accepts a text as one message of the user.
    let bound = Dialect::openai_responses().bind_tools(&tools());
    let mut body = bound.body(json!({ "input": "Hi." })).unwrap();
    assert_eq!(json!(body), json!({ "input": [{ "role": "user", "content": "Hi." }] }));
    body.fields_mut()["input"] = json!(null);
    assert_eq!(serde_json::to_string(&body).unwrap_err().to_string(), "`input` is not a list");
}

#[test]
fn a_call_without_an_id_is_sent_back_with_the_id_of_its_result() {
    let chat = json!({ "choices": [{ "message": { "tool_calls": [{ "function": { "name": "add", "arguments": "{}" } }] } }] });
    let items = json!({ "output": [{ "type": "function_call", "name": "add", "arguments": "{}" }] });
    let blocks = json!({ "content": [{ "type": "tool_use", "id": "", "name": "add", "input": {} }] });
    let parts =
        json!({ "candidates": [{ "content": { "parts": [{ "functionCall": { "name": "add" } }] } }] });
    let read = |dialect: Dialect, response: &Value| -> (AssembledResponse, Value) {
        let read = dialect.bind_tools(&tools()).read(response).unwrap();
        let message = message(&read);
        (read, message)
    };
    for (dialect, response, place) in [
        (Dialect::openai_chat(), chat, "/tool_calls/0/id"),
        (Dialect::openai_responses(), items, "/0/call_id"),
        (Dialect::anthropic(), blocks, "/content/0/id"),
    ] {
        let (read, message) = read(dialect, &response);
        assert_eq!(message.pointer(place), Some(&json!(read.calls[0].id)), "{message}");
        assert!(message.is_array() || message["role"] == "assistant", "{message}");
    }
    // Gemini refuses ids that it did not assign.
    let (_, message) = read(Dialect::gemini(), &parts);
    assert_eq!(message, json!({ "role": "model", "parts": [{ "functionCall": { "name": "add" } }] }));
}
