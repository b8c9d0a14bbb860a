//! Conversations that move from one provider to another.

use std::collections::HashSet;

use serde_json::{Value, json};
use test_support::http::Recorder;
use tool_agent::{
    HttpModel, Message, Part,
    model::{Model, ModelEvent, Request},
};
use tool_runtime::{Content, Dialect, ToolCall, ToolResult, prelude::*};

use super::{WIRES, ask, events, model, saying, server::Answer};

/// A response with two calls, the ids of which other providers reject.
fn calling(wire: &str, id: &str) -> Value {
    match wire {
        "openai" => {
            json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": { "role": "assistant", "content": "I add.", "tool_calls": [
            { "id": id, "type": "function", "function": { "name": "add", "arguments": "{\"a\":1.50}" } },
            { "id": format!("{id}_2"), "type": "function", "function": { "name": "add", "arguments": "{\"a\":2}" } }] } }] })
        }
        "openai-responses" => json!({ "status": "completed", "output": [
            { "type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [{ "type": "output_text", "text": "I add.", "annotations": [] }] },
            { "type": "function_call", "call_id": id, "name": "add", "arguments": "{\"a\":1.50}", "status": "completed" },
            { "type": "function_call", "call_id": format!("{id}_2"), "name": "add", "arguments": "{\"a\":2}", "status": "completed" }] }),
        "anthropic" => json!({ "role": "assistant", "stop_reason": "tool_use", "content": [
            { "type": "thinking", "thinking": "Hm.", "signature": "Er==" }, { "type": "text", "text": "I add." },
            { "type": "tool_use", "id": id, "name": "add", "input": { "a": 1.5 } },
            { "type": "tool_use", "id": format!("{id}_2"), "name": "add", "input": { "a": 2 } }] }),
        _ => json!({ "candidates": [{ "finishReason": "STOP", "content": { "role": "model", "parts": [
            { "text": "I add." }, { "functionCall": { "name": "add", "args": { "a": 1.5 } }, "thoughtSignature": "Er==" },
            { "functionCall": { "name": "add", "args": { "a": 2 } } }] } }] }),
    }
}

/// The ids of the calls and of the results of a request, in order; names for Gemini.
fn ids(wire: &str, body: &Value) -> (Vec<String>, Vec<String>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    let list = ["messages", "input", "contents"].iter().find_map(|name| body[name].as_array()).unwrap();
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    for message in list {
        match wire {
            "openai" => {
                calls.extend(message["tool_calls"].as_array().into_iter().flatten().map(|it| id(&it["id"])));
                results.extend(message.get("tool_call_id").map(id));
            }
            "openai-responses" if message["type"] == "function_call" => calls.push(id(&message["call_id"])),
            "openai-responses" if message["type"] == "function_call_output" => {
                results.push(id(&message["call_id"]))
            }
            "anthropic" => {
                for block in message["content"].as_array().into_iter().flatten() {
                    calls.extend((block["type"] == "tool_use").then(|| id(&block["id"])));
                    results.extend(block.get("tool_use_id").map(id));
                }
            }
            "gemini" => {
                for part in message["parts"].as_array().into_iter().flatten() {
                    calls.extend(part.pointer("/functionCall/name").map(id));
                    results.extend(part.pointer("/functionResponse/name").map(id));
                }
            }
            _ => {}
        }
    }
    (calls, results)
}

/// Continues a conversation: the response of one provider and the results of its calls.
async fn round(messages: &mut Vec<Message>, wire: &str, id: &str) {
    let server = Recorder::scripted([Answer::json(&calling(wire, id))]).await;
    let message = ask(&model(wire, &server.url), Request::new(messages.clone())).await.message;
    let results: Vec<_> = message
        .calls()
        .map(|call| ToolResult::new(call.id.clone(), "add", Ok(ToolOutput::new([Content::text("3")]))))
        .collect();
    messages.extend([message, Message::results(results)]);
}

async fn continued(messages: &[Message], wire: &str) -> (Value, String, Vec<String>) {
    let server = Recorder::scripted([Answer::json(&saying(wire, "4"))]).await;
    let all = events(model(wire, &server.url).respond(Request::new(messages.to_vec()))).await;
    let unsupported = all.into_iter().filter_map(|event| match event {
        Ok(ModelEvent::Unsupported(text)) => Some(text),
        _ => None,
    });
    let received = server.received().remove(0);
    (received.json(), received.text().to_owned(), unsupported.collect())
}

#[tokio::test]
async fn a_conversation_moves_from_each_provider_to_each_other() {
    let long = format!("weird id/{}", "x".repeat(60));
    for from in WIRES {
        let mut messages = vec![Message::user("1.5 and 2?")];
        round(&mut messages, from, &long).await;
        for to in WIRES.into_iter().filter(|to| *to != from) {
            let (body, text, _) = continued(&messages, to).await;
            let (calls, results) = ids(to, &body);
            assert_eq!((calls.len(), &calls), (2, &results), "{from} to {to}: {text}");
            assert!(text.contains("I add.") && !text.contains("Er=="), "{from} to {to}: {text}");
            if to != "gemini" {
                assert_ne!(calls[0], calls[1], "{from} to {to}");
                for id in &calls {
                    let is_plain = id.chars().all(|it| it.is_ascii_alphanumeric() || "_-".contains(it));
                    assert!(is_plain && id.len() <= 40, "{from} to {to}: {id}");
                }
            }
        }
        // Back at its provider, the message is unchanged.
        let (_, text, unsupported) = continued(&messages, from).await;
        if from == "anthropic" {
            assert!(text.contains(r#""signature":"Er==""#) && text.contains(&long), "{text}");
        }
        assert!(unsupported.is_empty(), "{from}: {unsupported:?}");
    }
}

#[tokio::test]
async fn a_conversation_of_four_providers_keeps_calls_and_results_together() {
    let mut messages = vec![Message::user("1.5 and 2?")];
    for wire in ["anthropic", "gemini", "openai", "openai-responses", "anthropic"] {
        // Models repeat ids.
        round(&mut messages, wire, "call/0").await;
        messages.push(Message::user("Again."));
    }
    for wire in WIRES {
        let (body, text, _) = continued(&messages, wire).await;
        let (calls, results) = ids(wire, &body);
        assert_eq!((calls.len(), &calls), (10, &results), "{wire}: {text}");
        if wire != "gemini" && wire != "anthropic" {
            assert_eq!(calls.iter().collect::<HashSet<_>>().len(), 10, "{wire}: {calls:?}");
        }
    }
}

#[tokio::test]
async fn reasoning_of_another_model_is_reported() {
    let mut messages = vec![Message::user("1.5 and 2?")];
    round(&mut messages, "anthropic", "toolu_1").await;
    let (_, text, unsupported) = continued(&messages, "openai").await;
    assert!(!text.contains("Hm."), "{text}");
    assert!(unsupported[0].contains("reasoning"), "{unsupported:?}");
}

#[tokio::test]
async fn a_call_of_another_model_needs_no_signature() {
    let call = ToolCall::new("add", r#"{"a":1.50,"text":"{\"functionCall\":"}"#).with_id("c1");
    let results = Message::results([ToolResult::new(
        call.id.clone(),
        "add",
        Ok(ToolOutput::new([Content::text("3")])),
    )]);
    let messages = [
        Message::user("?"),
        Message::assistant([Part::Text("{\"functionCall\":".into()), Part::Call(call)]),
        results,
    ];
    let (body, text, _) = continued(&messages, "gemini").await;
    assert_eq!(body["contents"][1]["parts"][1]["thoughtSignature"], "skip_thought_signature_validator");
    assert!(text.contains(r#""a":1.50"#) && text.matches("thoughtSignature").count() == 1, "{text}");
}

#[tokio::test]
async fn an_empty_message_is_left_out() {
    for wire in WIRES {
        let messages = [Message::user("?"), Message::assistant([]), Message::user("Again.")];
        let (body, text, _) = continued(&messages, wire).await;
        let list = ["messages", "input", "contents"].iter().find_map(|name| body[name].as_array()).unwrap();
        assert_eq!(list.len(), 2, "{wire}: {text}");
    }
}

#[tokio::test]
async fn a_message_has_the_names_of_the_model_that_receives_it() {
    /// Adds.
    #[tool(read_only, register = false)]
    fn add(a: f64) -> f64 {
        a
    }
    let tools = Registry::builder().tool::<add>().build().unwrap();
    let call = Message::assistant([Part::Call(ToolCall::new("add", r#"{"a":1}"#).with_id("c1"))]);
    let result = ToolResult::new("c1".to_owned().into(), "add", Ok(ToolOutput::new([Content::text("1")])));
    // One conversation, sent to several models.
    let request = Request::new([Message::user("?"), call, Message::results([result])]).with_tools(tools);
    let names = |body: &Value| {
        let text = body["contents"].to_string();
        (text.matches(r#""name":"add""#).count(), text.matches(r#""name":"x_add""#).count())
    };
    let server = Recorder::scripted((0..4).map(|_| Answer::json(&saying("gemini", "100")))).await;
    let plain = model("gemini", &server.url);
    let prefixed = plain.clone().with_dialect(Dialect::gemini().with_prefix("x_")).unwrap();
    for (model, expected) in [(&plain, (2, 0)), (&prefixed, (0, 2)), (&plain, (2, 0))] {
        ask(model, request.clone()).await;
        assert_eq!(names(&server.received().pop().unwrap().json()), expected);
    }
    // Only Gemini 3 needs a signature.
    let older = HttpModel::gemini("gemini-2.5-pro").unwrap().with_base_url(&*server.url).with_api_key("k");
    ask(&older, request).await;
    let sent = server.received();
    let signed = |at: usize| sent[at].text().contains("thoughtSignature");
    assert_eq!((signed(0), signed(3)), (true, false));
}

#[test]
fn a_dialect_of_another_api_is_an_error() {
    let error = model("gemini", "http://127.0.0.1:9").with_dialect(Dialect::anthropic()).unwrap_err();
    assert_eq!(error.to_string(), "expected a dialect `gemini`, got `anthropic`");
}

#[tokio::test]
async fn an_id_that_occurs_again_has_a_number() {
    let mut messages = vec![Message::user("?")];
    for id in ["c", "c", "d", "c"] {
        let call = ToolCall::new("add", "{}").with_id(id);
        let result = ToolResult::new(call.id.clone(), "add", Ok(ToolOutput::new([Content::text("3")])));
        messages.extend([Message::assistant([Part::Call(call)]), Message::results([result])]);
    }
    for wire in ["openai", "anthropic"] {
        let (body, text, _) = continued(&messages, wire).await;
        let expected = ["c", "c_2", "d", "c_3"].map(str::to_owned).to_vec();
        assert_eq!(ids(wire, &body), (expected.clone(), expected), "{wire}: {text}");
    }
}
