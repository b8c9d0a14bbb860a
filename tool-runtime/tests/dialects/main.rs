//! A04, A19, A22, D05, D06, D12: definitions, calls and results in the dialects of all providers.

#![allow(missing_docs, dead_code, reason = "fixtures speak for themselves")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

#[path = "../common/accepted.rs"]
mod accepted;
#[path = "../common/carried.rs"]
mod carried;
#[path = "../common/mod.rs"]
mod common;

mod all_of;
mod anthropic;
mod append;
mod assistant;
mod assistant_chat;
mod bound;
mod conversation;
mod drafts;
mod exchange;
mod gemini;
mod golden;
mod history;
mod lint;
mod mcp;
mod odd_events;
mod openai_chat;
mod openai_responses;
mod parts;
mod peer_requests;
mod pieces;
mod providers;
mod recorded;
mod requests;
mod responses_items;
mod rules;
mod schemas;
mod stop_reasons;
mod strict_anthropic;
mod tools;
mod unreadable;
mod world;

use common::{now, run};
use serde_json::Value;
use tool_runtime::{
    Content, Registry, ToolCall, ToolError, ToolOutput, ToolResult,
    dialect::{AssembledResponse, BoundTools, Dialect},
    output::{Blob, Resource, ResourceBody},
    prelude::*,
};

/// Adds two numbers.
#[tool(register = false)]
fn add(
    /// The one.
    a: i64,
    /// The other.
    b: i64,
) -> i64 {
    a + b
}

/// A shape.
#[tool_args]
#[serde(tag = "shape", rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64, turned: Option<f64> },
}

/// Draws.
#[tool(register = false)]
fn draw(#[args] shape: Shape) -> String {
    match shape {
        Shape::Circle { radius } => format!("circle {radius}"),
        Shape::Square { side, turned } => format!("square {side} {turned:?}"),
    }
}

fn tools() -> Registry {
    Registry::builder().tool::<add>().tool::<draw>().build().unwrap()
}

fn bound(dialect: &Dialect) -> BoundTools {
    dialect.bind_tools(&tools())
}

/// Returns the ids, names and arguments of calls.
fn told(calls: &[ToolCall]) -> Vec<(String, String, String)> {
    let told = |it: &ToolCall| (it.id.to_string(), it.name.to_string(), it.arguments.as_str().to_owned());
    calls.iter().map(told).collect()
}

/// Returns the complete calls.
fn whole(calls: &[ToolCall]) -> Vec<(String, String, String)> {
    told(&calls.iter().filter(|call| call.completed().is_ok()).cloned().collect::<Vec<_>>())
}

/// Returns the incomplete calls.
fn cut_off(calls: &[ToolCall]) -> Vec<(String, String, String)> {
    told(&calls.iter().filter(|call| call.completed().is_err()).cloned().collect::<Vec<_>>())
}

/// Returns the codes of the diagnostics of a response.
fn codes(response: &AssembledResponse) -> Vec<&'static str> {
    response.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

/// Returns the calls of a whole response.
fn calls(dialect: &Dialect, response: &Value) -> Vec<(String, String, String)> {
    told(&bound(dialect).calls(response).unwrap())
}

/// Returns the error for a response.
fn refused(dialect: &Dialect, response: &Value) -> String {
    bound(dialect).calls(response).unwrap_err().to_string()
}

/// Assembles the events of a stream.
fn assembled(dialect: &Dialect, events: &[Value]) -> AssembledResponse {
    let mut assembler = bound(dialect).assembler();
    for event in events {
        assembler.push(event).unwrap();
    }
    assembler.finish()
}

fn result(id: &str, outcome: Result<ToolOutput, ToolError>) -> ToolResult {
    ToolResult::new(id.to_owned().into(), "add", outcome)
}

/// Returns one result of each kind that providers represent differently.
fn of_all_kinds() -> Vec<ToolResult> {
    let picture = || Content::image(*b"png", "image/png");
    let resource = |mime_type: &str, body| {
        let (uri, mime_type) = ("file:///notes".to_owned(), mime_type.to_owned());
        Content::Resource { resource: Resource { uri, mime_type, body } }
    };
    vec![
        // D05
        result("text", Ok(ToolOutput::from("a<b & \"é\""))),
        result("number", ToolOutput::json(&5)),
        result("object", ToolOutput::json(&json!({ "temp": 72 }))),
        result("nothing", Ok(ToolOutput::empty())),
        result("value", Ok(ToolOutput::empty().with_structured(json!([1, 2])))),
        result("picture", Ok(ToolOutput::new([Content::text("Here:"), picture()]))),
        result(
            "document",
            Ok(ToolOutput::new([resource("text/plain", ResourceBody::Text("Hi".to_owned()))])),
        ),
        result("archive", Ok(resource("application/zip", ResourceBody::Blob(Blob(b"PK12".to_vec()))).into())),
        result("failed", Err(ToolError::failed("the disk is full").with_content(vec![picture()]))),
        result("failure", Ok(ToolOutput::from("HTTP 503").as_failure())),
    ]
}

/// Returns a result with a document at `uri`.
fn document(uri: &str) -> ToolResult {
    let (uri, mime_type) = (uri.to_owned(), "application/pdf".to_owned());
    let body = ResourceBody::Blob(Blob(b"pdf".to_vec()));
    result("document", Ok(Content::Resource { resource: Resource { uri, mime_type, body } }.into()))
}
