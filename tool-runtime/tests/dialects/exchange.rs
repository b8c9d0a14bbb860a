//! A complete exchange in every dialect: a request, the calls of the response, and their results.
//!
//! Written to `target/tmp/exports`, where `tests/providers/check.py` validates it with the types of the SDKs.

use tool_runtime::{
    Content, Registry, ToolBuilder, ToolError, ToolOutput, ToolResult,
    dialect::{BoundTools, Dialect},
    prelude::*,
};

use super::{add, draw, of_all_kinds, result, world::write};

#[tool_args]
struct Topic {
    /// The topic.
    topic: String,
}

/// Returns tools of which one has examples and an instruction.
fn tools() -> Registry {
    let recall = ToolBuilder::new("recall")
        .description("Recalls what was said.")
        .examples(vec![json!({ "topic": "the weather" })])
        .expect_handler(|it: Topic, _| async move { Ok::<_, ToolError>(it.topic) })
        .with_on_request(|request| async move {
            request.instruct("Recall what was said before you ask again.");
            Ok(())
        });
    Registry::builder().tool::<add>().tool::<draw>().add(recall).build().unwrap()
}

const ARGUMENTS: &str = r#"{"a":1,"b":2}"#;

/// Returns results of all kinds: text, images, audio and documents.
fn results() -> Vec<ToolResult> {
    let file = |id: &str, mime_type: &str| result(id, Ok(Content::image(*b"data", mime_type).into()));
    let mut results = of_all_kinds();
    results.extend([
        file("sound", "audio/wav"),
        file("paper", "application/pdf"),
        file("film", "video/mp4"),
        result("both", ToolOutput::json(&json!({ "a": [null, 1.5] })).map(|it| it.with_details(json!(1)))),
        result("blank", Ok(ToolOutput::from(" "))),
    ]);
    results
}

/// Returns the request after the model made the calls of `results`.
fn request(dialect: &str, bound: &BoundTools, results: &[ToolResult]) -> Value {
    let sent = bound.results(results);
    let list =
        |one: &dyn Fn(&str) -> Value| results.iter().map(|it| one(&it.id.to_string())).collect::<Vec<_>>();
    let asked = json!({ "role": "user", "content": "Add." });
    let mut request = match dialect {
        "openai-chat" | "openai-chat-strict" => {
            let calls = list(
                &|id| json!({ "id": id, "type": "function", "function": { "name": "add", "arguments": ARGUMENTS } }),
            );
            let before = [asked, json!({ "role": "assistant", "tool_calls": calls })];
            json!({ "model": "gpt-5", "messages": after(before.to_vec(), sent) })
        }
        "openai-responses" | "openai-responses-strict" => {
            let calls = list(
                &|id| json!({ "type": "function_call", "call_id": id, "name": "add", "arguments": ARGUMENTS }),
            );
            let before = [asked].into_iter().chain(calls).collect();
            json!({ "model": "gpt-5", "input": after(before, sent) })
        }
        "gemini" | "gemini-schema" => {
            let calls =
                list(&|id| json!({ "functionCall": { "id": id, "name": "add", "args": { "a": 1 } } }));
            let asked = json!({ "role": "user", "parts": [{ "text": "Add." }] });
            json!({ "contents": [asked, { "role": "model", "parts": calls }, sent] })
        }
        "mcp" => json!({}),
        _ => {
            let calls = list(
                &|id| json!({ "type": "tool_use", "id": id, "name": "add", "input": { "a": 1, "b": 2 } }),
            );
            let messages = [asked, json!({ "role": "assistant", "content": calls }), sent];
            json!({ "model": "claude", "max_tokens": 99, "messages": messages })
        }
    };
    request = crate::run(bound.build_request(request, tool_runtime::RunContext::new())).unwrap();
    request
}

fn after(mut before: Vec<Value>, results: Value) -> Vec<Value> {
    if let Value::Array(results) = results {
        before.extend(results);
    }
    before
}

// D12
#[test]
fn a_complete_exchange_is_exported_for_every_dialect() {
    let results = results();
    for dialect in Dialect::all() {
        let bound = dialect.bind_tools(&tools());
        let request = request(dialect.name(), &bound, &results);
        assert_eq!(request["tools"], *bound.definitions());
        assert!(request.to_string().contains("before you ask again"), "{request}");
        let sent = bound.results(&results);
        // It contains one result for each call.
        let text = sent.to_string();
        assert!(
            results
                .iter()
                .filter(|_| dialect.name() != "mcp")
                .all(|it| text.contains(&format!("\"{}\"", it.id)))
        );
        write("exchange", dialect.name(), &json!({ "results": sent, "request": request }));
    }
}
