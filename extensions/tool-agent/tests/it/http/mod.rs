//! Models over HTTP, against local servers.

mod bounds;
mod cache_points;
mod convert;
mod deltas;
mod environment;
#[cfg(feature = "genai")]
mod genai;
mod history;
mod metadata;
mod mocks;
mod new_messages;
mod recorded;
mod reports;
mod retries;
mod server;
mod wire;

use serde_json::{Value, json};
use tool_agent::{
    HttpModel,
    model::{Model, ModelError, ModelEvent, Request, Response, ResponseStream},
};

/// The names of the APIs.
const WIRES: [&str; 4] = ["openai", "openai-responses", "anthropic", "gemini"];

/// A model of an API at `url`, with the key `sk-test-key`.
fn model(wire: &str, url: &str) -> HttpModel {
    let path = if wire.starts_with("openai") { "/v1" } else { "" };
    let model = HttpModel::from_text(&format!("{wire}:some-model")).unwrap();
    model.with_base_url(format!("{url}{path}")).with_api_key("sk-test-key")
}

/// The name of the dialect of an API.
fn dialect(wire: &str) -> &str {
    if wire == "openai" { "openai-chat" } else { wire }
}

/// The events of a response up to its end.
async fn events(mut stream: ResponseStream) -> Vec<Result<ModelEvent, ModelError>> {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    events
}

fn finished(events: Vec<Result<ModelEvent, ModelError>>) -> Response {
    match events.into_iter().last() {
        Some(Ok(ModelEvent::Finished(response))) => response,
        other => panic!("no response: {other:?}"),
    }
}

async fn ask(model: &HttpModel, request: Request) -> Response {
    finished(events(model.respond(request)).await)
}

/// The text of a response that says `text`, in the format of an API.
fn saying(wire: &str, text: &str) -> Value {
    match wire {
        "openai" => json!({
            "id": "r1", "model": "m1",
            "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": text } }],
            "usage": { "prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 4 } },
        }),
        "openai-responses" => json!({
            "id": "r1", "model": "m1", "status": "completed",
            "output": [{ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{ "type": "output_text", "text": text, "annotations": [] }] }],
            "usage": { "input_tokens": 10, "output_tokens": 2,
                "input_tokens_details": { "cached_tokens": 4, "cache_write_tokens": 3 } },
        }),
        "anthropic" => json!({
            "id": "r1", "model": "m1", "type": "message", "role": "assistant",
            "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn",
            "usage": { "input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3 },
        }),
        _ => json!({
            "responseId": "r1", "modelVersion": "m1",
            "candidates": [{ "content": { "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 2, "cachedContentTokenCount": 4 },
        }),
    }
}

/// The same response as the events of a stream.
fn streaming(wire: &str, text: &str) -> Vec<Value> {
    let whole = saying(wire, text);
    match wire {
        "openai" => vec![
            json!({ "id": "r1", "model": "m1", "choices": [{ "index": 0, "delta": { "role": "assistant", "content": text } }] }),
            json!({ "id": "r1", "model": "m1", "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }),
            json!({ "id": "r1", "model": "m1", "choices": [], "usage": whole["usage"] }),
            json!("[DONE]"),
        ],
        "openai-responses" => vec![
            json!({ "type": "response.created", "response": { "id": "r1", "model": "m1" } }),
            json!({ "type": "response.output_item.added", "output_index": 0, "item": { "type": "message", "id": "msg_1", "role": "assistant", "content": [] } }),
            json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text }),
            json!({ "type": "response.output_item.done", "output_index": 0, "item": whole["output"][0] }),
            json!({ "type": "response.completed", "response": whole }),
        ],
        "anthropic" => vec![
            json!({ "type": "message_start", "message": { "id": "r1", "model": "m1", "role": "assistant", "content": [], "usage": whole["usage"] } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 } }),
            json!({ "type": "message_stop" }),
        ],
        _ => vec![whole],
    }
}
