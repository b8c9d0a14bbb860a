//! Models of the crate `genai`, against local servers.

use std::time::Duration;

use serde_json::{Value, json};
use test_support::http::Recorder;
use tool_agent::{
    Agent, Message, Part, Runner, Thinking,
    model::{
        CachePoint, GenaiModel, Model, ModelErrorKind, ModelEvent, Request, Response, ToolChoice,
        genai::{
            Client, ServiceTarget,
            chat::ChatOptions,
            resolver::{AuthData, Endpoint},
        },
    },
};
use tool_runtime::{Content, ToolCall, ToolResult, prelude::*};

use super::{WIRES, events, finished, saying, server::Answer, streaming};

/// Multiplies two numbers.
#[tool(read_only)]
fn multiply(a: f64, b: f64) -> f64 {
    a * b
}

fn tools() -> Registry {
    Registry::builder().tool::<multiply>().build().unwrap()
}

/// A model of an API at `url`, with the key `sk-test-key`.
fn model(wire: &str, url: &str) -> GenaiModel {
    let path = if wire == "gemini" { "v1beta" } else { "v1" };
    let endpoint = Endpoint::from_owned(format!("{url}/{path}/"));
    let client = Client::builder().with_service_target_resolver_fn(move |target: ServiceTarget| {
        Ok(ServiceTarget { endpoint, auth: AuthData::from_single("sk-test-key"), ..target })
    });
    GenaiModel::new(client.build().unwrap(), format!("{}::some-model", wire.replace("-responses", "_resp")))
}

fn question() -> Request {
    Request::new([Message::user("25 times 4?")])
}

/// The body that a model sends, with its remarks on the request.
async fn sent(wire: &str, request: Request) -> (Value, Vec<String>) {
    let server = Recorder::scripted([Answer::json(&saying(wire, "100"))]).await;
    let all = events(model(wire, &server.url).with_streaming(false).respond(request)).await;
    let unsupported = all.iter().filter_map(|event| match event {
        Ok(ModelEvent::Unsupported(text)) => Some(text.clone()),
        _ => None,
    });
    let unsupported = unsupported.collect();
    finished(all);
    (server.received().remove(0).json(), unsupported)
}

#[tokio::test]
async fn a_response_has_its_text_usage_and_stop_reason_streamed_and_not() {
    for wire in WIRES {
        for streams in [false, true] {
            let answer = match streams {
                true => Answer::events(&streaming(wire, "100")),
                false => Answer::json(&saying(wire, "100")),
            };
            let server = Recorder::scripted([answer]).await;
            let model = model(wire, &server.url).with_streaming(streams);
            assert!(model.name().ends_with("::some-model") && !model.has_strict_output());
            let all = events(model.respond(question())).await;
            assert!(
                matches!(&all[0], Ok(ModelEvent::Text(text)) if text == "100"),
                "{wire}, streams: {streams}: {all:?}"
            );
            let Response { message, usage, stop_reason, truncated, .. } = finished(all);
            assert_eq!((message.text().as_str(), truncated), ("100", false), "{wire}, streams: {streams}");
            assert!(stop_reason.is_some(), "{wire}, streams: {streams}"); // D17
            let usage = usage.unwrap();
            let expected = (Some(10), Some(2), Some(4));
            assert_eq!((usage.input, usage.output, usage.cached), expected, "{wire}, streams: {streams}"); // W08
        }
    }
}

/// A response with a call, whole or as the events of a stream.
fn calling(streams: bool) -> Answer {
    let call = |arguments: &str| json!({ "index": 0, "id": "c1", "type": "function", "function": { "name": "multiply", "arguments": arguments } });
    match streams {
        false => Answer::json(
            &json!({ "id": "r1", "model": "m1", "choices": [{ "index": 0, "finish_reason": "tool_calls",
            "message": { "role": "assistant", "content": null, "tool_calls": [call(r#"{"a":25,"b":4}"#)] } }] }),
        ),
        true => Answer::events(&[
            json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "content": null, "tool_calls": [call(r#"{"a":25"#)] } }] }),
            json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": r#","b":4}"# } }] } }] }),
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
            json!("[DONE]"),
        ]),
    }
}

#[tokio::test]
async fn an_agent_calls_its_tool_and_sends_the_result() {
    for streams in [false, true] {
        let last = match streams {
            true => Answer::events(&streaming("openai", "100")),
            false => Answer::json(&saying("openai", "100")),
        };
        let server = Recorder::scripted([calling(streams), last]).await;
        let model = model("openai", &server.url).with_streaming(streams);
        let agent = Agent::builder("calculator", model).instruction("Use the tool.").tools(tools());
        let answer = Runner::new(agent.build().unwrap()).run("25 times 4?").answer().await.unwrap();
        assert_eq!(answer, "100", "streams: {streams}");
        let received = server.received();
        let first = received[0].json();
        assert_eq!(received[0].headers["authorization"], "Bearer sk-test-key");
        assert_eq!(first["tools"][0]["function"]["name"], "multiply");
        assert_eq!(first["tools"][0]["function"]["parameters"]["required"], json!(["a", "b"]));
        let messages = received[1].json()["messages"].as_array().unwrap().clone();
        let roles: Vec<_> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool"]);
        assert_eq!(messages[2]["tool_calls"][0]["id"], "c1");
        assert_eq!((&messages[3]["tool_call_id"], &messages[3]["content"]), (&json!("c1"), &json!("100.0")));
    }
}

#[tokio::test]
async fn an_error_has_its_kind_and_shows_no_key() {
    let long = r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}"#;
    let key = r#"{"error":{"message":"bad key sk-test-key"}}"#;
    for (status, body, kind) in [
        (401, key, ModelErrorKind::Authentication),
        (429, key, ModelErrorKind::RateLimited),
        (500, key, ModelErrorKind::Unavailable),
        (404, key, ModelErrorKind::InvalidRequest),
        (400, long, ModelErrorKind::ContextTooLong),
    ] {
        for streams in [false, true] {
            let answer = Answer::text(status, body).with_header("retry-after", "7");
            let server = Recorder::scripted([answer]).await;
            let model = model("openai", &server.url).with_streaming(streams);
            let error = model.respond(question()).response().await.unwrap_err();
            assert_eq!((error.kind(), error.status()), (kind, Some(status)), "streams: {streams}: {error}");
            assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
            assert!(!format!("{error} {error:?} {model:?}").contains("sk-test-key"), "{error:?}");
        }
    }
    let refused = model("openai", "http://127.0.0.1:9");
    for model in [refused.clone(), refused.with_streaming(false)] {
        let error = model.respond(question()).response().await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Connection, "{error}");
    }
    let keyless =
        GenaiModel::new(Client::builder().with_auth_resolver_fn(|_| Ok(None)).build().unwrap(), "openai::m");
    let error = keyless.respond(question()).response().await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Authentication, "{error}");
}

#[tokio::test]
async fn a_response_that_breaks_off_is_an_error_without_calls() {
    for wire in WIRES {
        let all = streaming(wire, "99");
        let part = match wire {
            "gemini" => {
                vec![json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "99" },
                { "functionCall": { "name": "multiply", "args": {} } }] } }] })]
            }
            "openai" => all[..all.len() - 3].to_vec(),
            _ => all[..all.len() - 2].to_vec(),
        };
        for cut in [Answer::events(&part), Answer::broken(&part)] {
            let server = Recorder::scripted([cut]).await;
            let error = model(wire, &server.url).respond(question()).response().await.unwrap_err();
            assert_eq!(error.kind(), ModelErrorKind::Connection, "{wire}: {error:?}"); // D17
        }
    }
    let malformed = [json!("{ not json")];
    for (answer, streams) in [(Answer::events(&malformed), true), (Answer::text(200, "{ not json"), false)] {
        let server = Recorder::scripted([answer]).await;
        let model = model("openai", &server.url).with_streaming(streams);
        let error = model.respond(question()).response().await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Malformed, "streams: {streams}: {error:?}");
    }
    let failed = [json!({ "error": { "message": "slow down", "type": "rate_limit_error" } })];
    let server = Recorder::scripted([Answer::events(&failed)]).await;
    let error = model("openai", &server.url).respond(question()).response().await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::RateLimited, "{error:?}");
}

#[tokio::test]
async fn a_response_that_was_cut_off_is_truncated() {
    let mut cut = saying("openai", "One, t");
    cut["choices"][0]["finish_reason"] = json!("length");
    let server = Recorder::scripted([Answer::json(&cut)]).await;
    let response =
        model("openai", &server.url).with_streaming(false).respond(question()).response().await.unwrap();
    assert_eq!((response.truncated, response.stop_reason.as_deref()), (true, Some("length"))); // D17
}

// Q01, U32
#[tokio::test]
async fn a_request_has_the_thinking_of_its_agent() {
    for (thinking, effort) in
        [(Thinking::Low, json!("low")), (Thinking::Medium, json!("medium")), (Thinking::High, json!("high"))]
    {
        let mut request = question();
        request.thinking = Some(thinking);
        let (body, _) = sent("openai", request).await;
        assert_eq!(body["reasoning_effort"], effort, "{thinking:?}");
    }
}

#[tokio::test]
async fn a_text_that_is_empty_is_no_part_of_a_response() {
    for (text, parts) in [("", 1), ("One.", 2)] {
        let call =
            json!({ "id": "c1", "type": "function", "function": { "name": "multiply", "arguments": "{}" } });
        let message = json!({ "role": "assistant", "content": text, "tool_calls": [call] });
        let whole = json!({ "id": "r", "model": "m", "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": message }] });
        let server = Recorder::scripted([Answer::json(&whole)]).await;
        let model = model("openai", &server.url).with_streaming(false);
        let response = model.respond(question().with_tools(tools())).response().await.unwrap();
        assert_eq!(response.message.parts().len(), parts, "{text:?}");
    }
}

#[tokio::test]
async fn reasoning_goes_back_to_its_provider_only() {
    let thinking = json!({ "id": "r1", "model": "m1", "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [
            { "type": "thinking", "thinking": "Hm.", "signature": "Er==" },
            { "type": "tool_use", "id": "c1", "name": "multiply", "input": { "a": 25, "b": 4 } },
        ],
        "usage": { "input_tokens": 3, "output_tokens": 2 } });
    let server = Recorder::scripted([Answer::json(&thinking)]).await;
    let all =
        events(model("anthropic", &server.url).with_streaming(false).respond(question().with_tools(tools())))
            .await;
    assert!(
        all.iter().any(|event| matches!(event, Ok(ModelEvent::Reasoning(text)) if text == "Hm.")),
        "{all:?}"
    );
    let response = finished(all);
    let call = response.message.calls().next().unwrap().clone();
    assert_eq!((&*call.name, call.id.to_string().as_str()), ("multiply", "c1"));
    // Stored and loaded, as by a session.
    let stored: Message = serde_json::from_str(&serde_json::to_string(&response.message).unwrap()).unwrap();
    let result = ToolResult::new(call.id, "multiply", Ok(ToolOutput::new([Content::text("100")])));
    let next = || {
        Request::new([Message::user("?"), stored.clone(), Message::results([result.clone()])])
            .with_tools(tools())
    };
    let (body, unsupported) = sent("anthropic", next()).await;
    assert!(body["messages"][1].to_string().contains("Er=="), "{body}");
    assert!(unsupported.is_empty(), "{unsupported:?}");
    let (body, unsupported) = sent("openai", next()).await;
    assert!(!body.to_string().contains("Er==") && body.to_string().contains("c1"), "{body}");
    assert_eq!(unsupported, ["the reasoning of another model is left out"]);
}

#[tokio::test]
async fn files_choices_parameters_and_cache_points_are_sent() {
    let image = Content::image(vec![1, 2, 3], "image/png");
    let user = Message::user_content([Content::text("Look."), image.clone()]);
    let call = Message::assistant([Part::Call(ToolCall::new("multiply", "{}").with_id("c1"))]);
    let failed = ToolResult::new("c1".to_owned().into(), "multiply", Err(ToolError::failed("no numbers")));
    let shown = ToolResult::new(
        "c2".to_owned().into(),
        "multiply",
        Ok(ToolOutput::new([Content::text("seen")]).with_content(image)),
    );
    let mut request = Request::new([user, call, Message::results([failed, shown])])
        .with_tools(tools())
        .with_tool_choice(ToolChoice::Tool("multiply".into()));
    request.parameters.insert("temperature".to_owned(), json!(0.5));
    request.parameters.insert("user".to_owned(), json!("u-7"));
    let (body, unsupported) = sent("openai", request.clone()).await;
    assert!(body["messages"][0].to_string().contains("AQID"), "{body}");
    assert_eq!(body["tool_choice"]["function"]["name"], "multiply");
    assert_eq!((&body["temperature"], &body["user"]), (&json!(0.5), &json!("u-7")));
    let texts: Vec<_> =
        body["messages"].as_array().unwrap()[2..].iter().map(|it| it["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Error: no numbers", "seen\n[an image of type image/png]"]);
    assert!(matches!(&unsupported[..], [text] if text.contains("image/png")), "{unsupported:?}");

    request.cache = vec![CachePoint::Tools, CachePoint::Instruction, CachePoint::Message(0)];
    request.instruction = "Be brief.".into();
    let (body, _) = sent("anthropic", request).await;
    assert_eq!(body.to_string().matches("cache_control").count(), 3, "{body}");
}

#[tokio::test]
async fn options_of_the_model_apply_to_each_request() {
    let server = Recorder::scripted([Answer::json(&saying("openai", "100"))]).await;
    let options = ChatOptions::default().with_seed(7).with_extra_body(json!({ "top_k": 3 }));
    let model =
        model("openai", &server.url).with_streaming(false).with_options(options).with_context_window(1_000);
    let mut request = question();
    request.parameters.insert("user".to_owned(), json!("u-7"));
    finished(events(model.respond(request)).await);
    let body = server.received().remove(0).json();
    assert_eq!((&body["seed"], &body["top_k"], &body["user"]), (&json!(7), &json!(3), &json!("u-7")));
    assert_eq!(model.context_window(), Some(1_000));
}
