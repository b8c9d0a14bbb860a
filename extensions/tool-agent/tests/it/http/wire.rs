//! Requests and responses of each provider.

use serde_json::{Value, json};
use test_support::http::Recorder;
use tool_agent::{
    Message, Original, Part, Role,
    model::{CachePoint, Model, ModelEvent, Request, ToolChoice},
};
use tool_runtime::{Content, Dialect, ToolCall, ToolResult, dialect::Thinking, prelude::*};

use super::{WIRES, ask, dialect, events, finished, model, saying, server::Answer, streaming};

/// Multiplies two numbers.
#[tool(read_only)]
fn multiply(a: f64, b: f64) -> f64 {
    a * b
}

fn tools() -> Registry {
    Registry::builder().tool::<multiply>().build().unwrap()
}

/// The request that a model sends, with the events of its response.
async fn sent(wire: &str, request: Request) -> (String, Vec<String>) {
    let server = Recorder::scripted([Answer::json(&saying(wire, "100"))]).await;
    let all = events(model(wire, &server.url).respond(request)).await;
    let unsupported = all.iter().filter_map(|event| match event {
        Ok(ModelEvent::Unsupported(text)) => Some(text.clone()),
        _ => None,
    });
    let unsupported = unsupported.collect();
    finished(all);
    (server.received().remove(0).text().to_owned(), unsupported)
}

// Q01, U32
#[tokio::test]
async fn a_request_has_the_thinking_of_its_agent_and_a_notice_of_what_is_lacking() {
    for wire in WIRES {
        let mut request = Request::new([Message::user("25 times 4?")]);
        request.thinking = Some(Thinking::Tokens(3_000));
        let (body, unsupported) = sent(wire, request.clone()).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        let (pointer, expected) = match wire {
            "openai" => ("/reasoning_effort", json!("medium")),
            "openai-responses" => ("/reasoning/effort", json!("medium")),
            "anthropic" => ("/thinking/budget_tokens", json!(3_000)),
            _ => ("/generationConfig/thinkingConfig/thinkingLevel", json!("medium")),
        };
        assert_eq!(body.pointer(pointer), Some(&expected), "{wire}");
        assert_eq!(unsupported.len(), usize::from(wire != "anthropic"), "{wire}: {unsupported:?}");
        // A parameter overrides it.
        let name = pointer.split('/').nth(1).unwrap();
        request.parameters.insert(name.to_owned(), json!("other"));
        let (body, _) = sent(wire, request).await;
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()[name], "other", "{wire}");
    }
}

#[tokio::test]
async fn a_response_has_its_text_usage_id_and_model() {
    for wire in WIRES {
        for answer in [Answer::json(&saying(wire, "100")), Answer::events(&streaming(wire, "100"))] {
            let server = Recorder::scripted([answer]).await;
            let response = ask(&model(wire, &server.url), Request::new([Message::user("25 times 4?")])).await;
            assert_eq!(response.message.text(), "100", "{wire}");
            assert_eq!(
                (response.id.as_deref(), response.model.as_deref()),
                (Some("r1"), Some("m1")),
                "{wire}"
            );
            let usage = response.usage.unwrap();
            // W08: counts have the same meaning for every provider.
            assert_eq!((usage.input, usage.output, usage.cached), (Some(10), Some(2), Some(4)), "{wire}");
            let written = matches!(wire, "openai-responses" | "anthropic").then_some(3);
            assert_eq!(usage.cache_written, written, "{wire}");
            assert!(response.stop_reason.is_some() && !response.truncated, "{wire}");
        }
    }
}

#[tokio::test]
async fn a_message_goes_back_as_it_came() {
    let answers = [
        (
            "openai",
            r#"{"role":"assistant","content":null,"reasoning_content":"Hm.","tool_calls":[{"id":"c1","type":"function","function":{"arguments":"{\"a\": 25.00, \"b\":4e0}","name":"multiply"},"extra":1.50}]}"#,
        ),
        (
            "openai-responses",
            r#"[{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA=","summary":[]},{"type":"function_call","status":"completed","arguments":"{\"a\": 25.00}","call_id":"c1","id":"fc_1","name":"multiply","extra":1.50}]"#,
        ),
        (
            "anthropic",
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"Er=="},{"type":"redacted_thinking","data":"AA=="},{"type":"tool_use","id":"c1","name":"multiply","input":{"b":4e0,"a":25.00}}]}"#,
        ),
        (
            "gemini",
            r#"{"parts":[{"thought":true,"text":"Hm."},{"functionCall":{"id":"c1","args":{"b":4e0,"a":25.00},"name":"multiply"},"thoughtSignature":"Er=="}],"role":"model"}"#,
        ),
    ];
    for (wire, message) in answers {
        let whole = match wire {
            "openai" => {
                format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"tool_calls"}}]}}"#)
            }
            "openai-responses" => format!(r#"{{"status":"completed","output":{message}}}"#),
            "anthropic" => format!(r#"{{"stop_reason":"tool_use",{}"#, &message[1..]),
            _ => format!(r#"{{"candidates":[{{"content":{message},"finishReason":"STOP"}}]}}"#),
        };
        let server = Recorder::scripted([Answer::text(200, whole), Answer::json(&saying(wire, "100"))]).await;
        let model = model(wire, &server.url);
        let question = Message::user("25 times 4?");
        let first = ask(&model, Request::new([question.clone()]).with_tools(tools())).await;
        let call = first.message.calls().next().unwrap().clone();
        assert_eq!((&*call.name, call.id.to_string().as_str()), ("multiply", "c1"), "{wire}");
        // Stored and loaded, as by a session.
        let stored: Message = serde_json::from_str(&serde_json::to_string(&first.message).unwrap()).unwrap();
        let result = ToolResult::new(call.id, "multiply", Ok(ToolOutput::new([Content::text("100")])));
        let second = Request::new([question, stored, Message::results([result])]).with_tools(tools());
        ask(&model, second).await;
        let sent = server.received().remove(1).text().to_owned();
        let message = message.trim_start_matches('[').trim_end_matches(']');
        assert!(sent.contains(message), "{wire}: {sent}");
    }
}

#[tokio::test]
async fn a_streamed_message_goes_back_as_assembled() {
    let streams: [(&str, Vec<Value>, &str); 2] = [
        (
            "anthropic",
            vec![
                json!({ "type": "message_start", "message": { "role": "assistant", "content": [] } }),
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "", "signature": "" } }),
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "Hm." } }),
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "Er==" } }),
                json!({ "type": "content_block_stop", "index": 0 }),
                json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "c1", "name": "multiply", "input": {} } }),
                json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"b\": 4e0," } }),
                json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": " \"a\": 25.00}" } }),
                json!({ "type": "content_block_stop", "index": 1 }),
                json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 2 } }),
                json!({ "type": "message_stop" }),
            ],
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"Er=="},{"type":"tool_use","id":"c1","name":"multiply","input":{"b":4e0,"a":25.00}}]}"#,
        ),
        (
            "openai",
            vec![
                json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "content": null, "tool_calls": [{ "index": 0, "id": "c1", "type": "function", "function": { "name": "multiply", "arguments": "" } }] } }] }),
                json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": "{\"b\": 4e0," } }] } }] }),
                json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": " \"a\": 25.00}" } }] } }] }),
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
                json!("[DONE]"),
            ],
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"multiply","arguments":"{\"b\": 4e0, \"a\": 25.00}"}}]}"#,
        ),
    ];
    for (wire, stream, message) in streams {
        let server = Recorder::scripted([Answer::events(&stream), Answer::json(&saying(wire, "100"))]).await;
        let model = model(wire, &server.url);
        let first = ask(&model, Request::new([Message::user("?")])).await;
        ask(&model, Request::new([Message::user("?"), first.message])).await;
        let sent = server.received().remove(1).text().to_owned();
        assert!(sent.contains(message), "{wire}: {sent}");
    }
}

#[tokio::test]
async fn the_choice_of_tools_has_the_form_of_the_provider() {
    let expected = |wire: &str, choice: &str| match (wire, choice) {
        ("openai", "tool") => json!({ "type": "function", "function": { "name": "multiply" } }),
        ("openai-responses", "tool") => json!({ "type": "function", "name": "multiply" }),
        ("openai" | "openai-responses", other) => json!(other),
        ("anthropic", "tool") => json!({ "type": "tool", "name": "multiply" }),
        ("anthropic", "required") => json!({ "type": "any" }),
        ("anthropic", other) => json!({ "type": other }),
        (_, "tool") => {
            json!({ "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": ["multiply"] } })
        }
        (_, "required") => json!({ "functionCallingConfig": { "mode": "ANY" } }),
        _ => json!({ "functionCallingConfig": { "mode": "NONE" } }),
    };
    for wire in WIRES {
        let choices = [
            ("tool", ToolChoice::Tool("multiply".into())),
            ("required", ToolChoice::Required),
            ("none", ToolChoice::None),
        ];
        for (name, choice) in choices {
            let request = Request::new([Message::user("?")]).with_tools(tools()).with_tool_choice(choice);
            let (text, _) = sent(wire, request).await;
            let body: Value = serde_json::from_str(&text).unwrap();
            let member = if wire == "gemini" { "toolConfig" } else { "tool_choice" };
            assert_eq!(body[member], expected(wire, name), "{wire}");
        }
    }
}

#[tokio::test]
async fn a_file_that_the_provider_does_not_accept_is_reported_and_named() {
    let text = Content::text("Look.");
    let image = Content::image(vec![1, 2, 3], "image/png");
    let audio = Content::audio(vec![1, 2, 3], "audio/wav");
    for (wire, accepts_audio) in
        [("openai", true), ("openai-responses", false), ("anthropic", false), ("gemini", true)]
    {
        let question = Message::user_content([text.clone(), image.clone(), audio.clone()]);
        let call = Message::assistant([Part::Call(ToolCall::new("multiply", "{}").with_id("c1"))]);
        let output =
            ToolOutput::new([Content::text("seen")]).with_content(Content::audio(vec![4], "audio/midi"));
        let results = Message::results([ToolResult::new("c1".to_owned().into(), "multiply", Ok(output))]);
        let (text, unsupported) = sent(wire, Request::new([question, call, results])).await;
        assert!(text.contains("AQID"), "{wire}: {text}"); // The image.
        let reported = |kind: &str| unsupported.iter().any(|it| it.contains(kind));
        assert_eq!(reported("audio/wav"), !accepts_audio, "{wire}: {unsupported:?}");
        assert!(reported("audio/midi"), "{wire}: {unsupported:?}");
        assert!(text.contains("[audio/midi, 1 bytes: not shown"), "{wire}: {text}");
    }
}

#[tokio::test]
async fn cache_points_mark_tools_instruction_and_message() {
    let mark = json!({ "type": "ephemeral" });
    let mut request = Request::new([Message::user("one"), Message::user("two"), Message::user("three")])
        .with_instruction("Answer.")
        .with_tools(tools());
    request.cache = vec![CachePoint::Tools, CachePoint::Instruction, CachePoint::Message(1)];
    let (text, _) = sent("anthropic", request.clone()).await;
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body["tools"][0]["cache_control"], mark);
    assert_eq!(body["system"], json!([{ "type": "text", "text": "Answer.", "cache_control": mark }]));
    assert_eq!(
        body["messages"][1]["content"],
        json!([{ "type": "text", "text": "two", "cache_control": mark }])
    );
    assert_eq!(text.matches("cache_control").count(), 3);

    request.cache =
        (0..3).map(CachePoint::Message).chain([CachePoint::Tools, CachePoint::Instruction]).collect();
    let (text, unsupported) = sent("anthropic", request.clone()).await;
    assert_eq!(text.matches("cache_control").count(), 4);
    assert!(unsupported[0].contains("at most 4"), "{unsupported:?}");

    request.cache.clear();
    let server = Recorder::scripted([Answer::json(&saying("anthropic", "100"))]).await;
    ask(&model("anthropic", &server.url).with_cache(true), request.clone()).await;
    let body = server.received().remove(0).json();
    assert_eq!(body["messages"][2]["content"][0]["cache_control"], mark);
    assert_eq!(body.to_string().matches("cache_control").count(), 3);

    let (text, unsupported) = sent("gemini", request).await;
    assert!(!text.contains("cache_control") && unsupported.is_empty());
}

#[tokio::test]
async fn a_marked_message_of_the_provider_keeps_its_other_bytes() {
    let json = r#"{"role":"assistant","content":[{"type":"text","text":"25.0"},{"type":"tool_use","id":"c1","name":"multiply","input":{"a":25.00}},{"type":"thinking","thinking":"","signature":"E"}]}"#;
    let original = Original {
        dialect: "anthropic".into(),
        json: serde_json::value::RawValue::from_string(json.to_owned()).unwrap(),
    };
    let message = Message::assistant([Part::Text("25.0".into())]).with_original(original);
    let mut request = Request::new([Message::user("?"), message]);
    request.cache = vec![CachePoint::Message(9)];
    let (text, _) = sent("anthropic", request).await;
    let marked = json.replace(r#"{"a":25.00}}"#, r#"{"a":25.00},"cache_control":{"type":"ephemeral"}}"#);
    assert!(text.contains(&marked), "{text}");
}

#[tokio::test]
async fn a_message_of_the_user_without_content_is_not_sent() {
    let request = |messages: &[Message]| Request::new(messages.to_vec());
    let (first, empty) = (Message::user("first"), Message::user_content([]));
    for wire in WIRES {
        let (without, _) = sent(wire, request(std::slice::from_ref(&first))).await;
        let (with, _) = sent(wire, request(&[first.clone(), empty.clone()])).await;
        assert_eq!(with, without, "{wire}");
    }
}

#[tokio::test]
async fn parameters_pass_through_and_override() {
    let server = Recorder::scripted([Answer::json(&saying("gemini", "100"))]).await;
    let model = model("gemini", &server.url)
        .with_parameter("generationConfig", json!({ "temperature": 0, "topK": 3 }))
        .with_parameter("labels", json!({ "team": "a" }));
    let mut request = Request::new([Message::user("?")]);
    request.parameters.insert("generationConfig".to_owned(), json!({ "temperature": 1 }));
    ask(&model, request).await;
    let body = server.received().remove(0).json();
    assert_eq!(body["generationConfig"], json!({ "temperature": 1, "topK": 3 }));
    assert_eq!(body["labels"], json!({ "team": "a" }));
}

#[tokio::test]
async fn each_provider_has_its_path_and_its_key() {
    let expected = [
        ("/v1/chat/completions", "authorization", "Bearer sk-test-key"),
        ("/v1/responses", "authorization", "Bearer sk-test-key"),
        ("/v1/messages", "x-api-key", "sk-test-key"),
        ("/v1beta/models/some-model:streamGenerateContent?alt=sse", "x-goog-api-key", "sk-test-key"),
    ];
    for (wire, (path, header, value)) in WIRES.into_iter().zip(expected) {
        let server = Recorder::scripted([Answer::events(&streaming(wire, "100"))]).await;
        let response = ask(&model(wire, &server.url), Request::new([Message::user("?")])).await;
        assert_eq!(response.message.role(), Role::Assistant);
        assert_eq!(&*response.message.original().unwrap().dialect, dialect(wire));
        let received = server.received().remove(0);
        assert_eq!((received.target.as_str(), received.headers[header].to_str().unwrap()), (path, value));
    }
}

#[tokio::test]
async fn a_native_tool_of_the_provider_is_sent_as_it_is_and_is_no_definition() {
    let natives = [
        ("openai", json!({ "type": "web_search", "extra": 1 })),
        ("openai-responses", json!({ "type": "web_search", "extra": 1 })),
        ("anthropic", json!({ "type": "web_search_20250305", "name": "web_search" })),
        ("gemini", json!({ "googleSearch": {} })),
    ];
    for (wire, native) in natives {
        let server = Recorder::scripted([Answer::json(&saying(wire, "100"))]).await;
        let all = Dialect::all();
        let dialect = all.into_iter().find(|it| it.name() == self::dialect(wire)).unwrap();
        let model = model(wire, &server.url).with_dialect(dialect.with_native(native.clone())).unwrap();
        let request = Request::new([Message::user("?")]).with_tools(tools());
        assert_eq!(request.tools.definitions().len(), 1); // R25: not in the definitions
        ask(&model, request).await;
        let sent = server.received().remove(0).json()["tools"].as_array().unwrap().clone();
        assert!(sent.contains(&native), "{wire}: {sent:?}"); // R25: the raw entry
        assert_eq!(sent.len(), 2, "{wire}: {sent:?}");
    }
}

#[tokio::test]
async fn an_unreadable_part_of_a_response_costs_itself_and_is_reported() {
    for wire in WIRES {
        let mut response = saying(wire, "100");
        let list = match wire {
            "openai" => {
                response["choices"][0]["message"]["tool_calls"] = 5.into();
                None
            }
            "openai-responses" => response.get_mut("output"),
            "anthropic" => response.get_mut("content"),
            _ => response.pointer_mut("/candidates/0/content/parts"),
        };
        if let Some(Value::Array(list)) = list {
            list.push(json!({ "future": 1 }));
            list.push(json!(5));
        }
        let server = Recorder::scripted([Answer::json(&response)]).await;
        let all =
            events(model(wire, &server.url).respond(Request::new([Message::user("25 times 4?")]))).await;
        let reports = all.iter().filter(
            |event| matches!(event, Ok(ModelEvent::Unsupported(text)) if text.contains("is left out: expected")),
        );
        assert!(reports.count() >= 1, "{wire}: {all:?}");
        assert_eq!(finished(all).message.text(), "100", "{wire}");
    }
}
