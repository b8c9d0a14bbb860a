//! A provider that validates the history of each request accepts the calls that it sent itself.

use serde_json::{Map, Value, json};
use tool_agent::{Agent, Runner};
use tool_runtime::{RunContext, prelude::*};

use super::{
    WIRES, model, saying,
    server::{Answer, validating_server},
    streaming,
};

/// Returns the time.
#[tool]
async fn now() -> String {
    "12:00".to_owned()
}

/// Returns the error of a request whose calls a strict provider rejects.
fn validate(wire: &'static str) -> impl Fn(&Value) -> Result<(), String> + Clone + Send + Sync {
    move |body| {
        let list = ["messages", "input", "contents"].iter().find_map(|name| body[name].as_array());
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for (at, message) in list.into_iter().flatten().enumerate() {
            let parts = match wire {
                "openai" => &message["tool_calls"],
                "anthropic" => &message["content"],
                "gemini" => &message["parts"],
                _ => &Value::Null,
            };
            let parts = parts.as_array().map_or(std::slice::from_ref(message), Vec::as_slice);
            for part in parts {
                read_part(wire, part, &mut calls, &mut results)
                    .map_err(|error| format!("message {at}: {error}: {part}"))?;
            }
        }
        if calls == results { Ok(()) } else { Err(format!("calls {calls:?}, results {results:?}")) }
    }
}

/// Validates the call of a part, and adds the ids of its call and its result; the names for Gemini.
fn read_part(
    wire: &str,
    part: &Value,
    calls: &mut Vec<String>,
    results: &mut Vec<String>,
) -> Result<(), String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(format!("`{value}` is no text"));
    let object_text = |value: &Value| {
        let text = text(value)?;
        let object = serde_json::from_str::<Map<String, Value>>(&text);
        object.map(Value::Object).map_err(|error| format!("arguments `{text}`: {error}"))
    };
    let (call, id, arguments) = match wire {
        "openai" if part.get("function").is_some() => {
            if part["type"] != "function" {
                return Err("no type".to_owned());
            }
            (&part["function"], text(&part["id"])?, object_text(&part["function"]["arguments"])?)
        }
        "openai-responses" if part["type"] == "function_call" => {
            (part, text(&part["call_id"])?, object_text(&part["arguments"])?)
        }
        "anthropic" if part["type"] == "tool_use" => (part, text(&part["id"])?, part["input"].clone()),
        "gemini" if part.get("functionCall").is_some() => {
            let call = &part["functionCall"];
            (call, text(&call["name"])?, call.get("args").cloned().unwrap_or_else(|| json!({})))
        }
        _ => {
            let ids = ["/tool_call_id", "/call_id", "/tool_use_id", "/functionResponse/name"];
            results.extend(ids.iter().find_map(|id| part.pointer(id)?.as_str()).map(str::to_owned));
            return Ok(());
        }
    };
    let name = text(&call["name"])?;
    let allows =
        |it: char| it.is_ascii_alphanumeric() || "_-".contains(it) || wire == "gemini" && ".:".contains(it);
    if name.is_empty() || name.len() > 64 || !name.chars().all(allows) {
        return Err(format!("name `{name}`"));
    }
    if !arguments.is_object() {
        return Err(format!("arguments `{arguments}`"));
    }
    calls.push(id);
    Ok(())
}

/// Returns a response with a call of `name`; `None` leaves out its arguments.
fn calling(wire: &str, id: &str, name: &str, arguments: Option<Value>) -> Value {
    let call = |mut call: Value, member: &str| {
        if let Some(arguments) = arguments.clone() {
            call[member] = arguments;
        }
        call
    };
    match wire {
        "openai" => {
            let function = call(json!({ "name": name }), "arguments");
            let calls = json!([{ "id": id, "type": "function", "function": function }]);
            let message = json!({ "role": "assistant", "content": null, "tool_calls": calls });
            json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": message }] })
        }
        "openai-responses" => {
            let item = json!({ "type": "function_call", "call_id": id, "name": name, "status": "completed" });
            json!({ "status": "completed", "output": [call(item, "arguments")] })
        }
        "anthropic" => {
            let block = call(json!({ "type": "tool_use", "id": id, "name": name }), "input");
            json!({ "role": "assistant", "stop_reason": "tool_use", "content": [block] })
        }
        _ => {
            let part = json!({ "functionCall": call(json!({ "name": name }), "args") });
            json!({ "candidates": [{ "finishReason": "STOP", "content": { "role": "model", "parts": [part] } }] })
        }
    }
}

/// Returns the events of a stream with the call of a response.
fn call_events(wire: &str, response: &Value) -> Vec<Value> {
    match wire {
        "openai" => {
            let mut delta = response["choices"][0]["message"].clone();
            delta["tool_calls"][0]["index"] = 0.into();
            vec![
                json!({ "choices": [{ "index": 0, "delta": delta }] }),
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
                json!("[DONE]"),
            ]
        }
        "openai-responses" => vec![
            json!({ "type": "response.output_item.added", "output_index": 0, "item": response["output"][0] }),
            json!({ "type": "response.output_item.done", "output_index": 0, "item": response["output"][0] }),
            json!({ "type": "response.completed", "response": response }),
        ],
        "anthropic" => vec![
            json!({ "type": "message_start", "message": { "role": "assistant", "content": [] } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": response["content"][0] }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
            json!({ "type": "message_stop" }),
        ],
        _ => vec![response.clone()],
    }
}

#[tokio::test]
async fn a_session_goes_on_after_calls_in_any_form() {
    let odd = [
        ("now", Some(json!(""))),
        ("now", Some(Value::Null)),
        ("now", None),
        ("now", Some(json!("null"))),
        ("now", Some(json!({}))),
        ("now", Some(json!([]))),
        ("now", Some(json!("[]"))),
        ("now", Some(json!("\"{}\""))),
        ("now", Some(json!("{\"zone\":"))),
        ("now", Some(json!(7))),
        ("functions.now:0", Some(json!("{}"))),
        ("", Some(json!(""))),
        ("null", Some(json!("{}"))),
        ("now\u{e9} <|x|>", Some(json!("{}"))),
    ];
    for wire in WIRES {
        for streams in [true, false] {
            let answer = |response: &Value| match streams {
                true => Answer::events(&call_events(wire, response)),
                false => Answer::json(response),
            };
            let text = |text: &str| match streams {
                true => Answer::events(&streaming(wire, text)),
                false => Answer::json(&saying(wire, text)),
            };
            for rounds in odd.chunks(3) {
                let case = format!("{wire}, streams: {streams}: {rounds:?}");
                let mut answers: Vec<_> = rounds
                    .iter()
                    .enumerate()
                    .map(|(at, (name, arguments))| {
                        answer(&calling(wire, &format!("call_{at}"), name, arguments.clone()))
                    })
                    .collect();
                answers.extend([text("Noon."), text("Again.")]);
                let server = validating_server(answers, validate(wire)).await;
                let model = model(wire, &server.url).with_streaming(streams).with_retries(0);
                let tools = Registry::builder().tool::<now>().build().unwrap();
                let runner = Runner::new(Agent::builder("clock", model).tools(tools).build().unwrap());
                let run = || RunContext::new().with_session("s");
                let first = runner.run_with(run(), "What time is it?").answer().await;
                assert_eq!(first.unwrap(), "Noon.", "{case}");
                // The second run sends the same history.
                assert_eq!(runner.run_with(run(), "And now?").answer().await.unwrap(), "Again.", "{case}");
                assert_eq!(server.received().len(), rounds.len() + 2, "{case}");
            }
        }
    }
}
