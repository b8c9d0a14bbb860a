//! Refused calls: the search for similar names, and reports of many violations.
//!
//! Each has a limit, in instructions. Registries are built at the first call, so that a program that
//! measures one refusal does not build those of the others.

use std::{hint::black_box, sync::OnceLock};

use serde_json::{Value, json};
use tool_runtime::{Registry, ToolBuilder, ToolError, builder::ClosureTool, schema::InputSchema};

use crate::{Workload, now};

/// Returns the refusals, each with its limit in instructions.
#[must_use]
pub fn workloads() -> Vec<(Workload, u64)> {
    let numbered = || tools((0..10_000).map(|at| format!("tool_{at:04}")));
    let worded = || tools((0..10_000).map(words));
    vec![
        (refused("unknown among 10,000 tools", numbered, "tool_99999", "{}".to_owned()), 2_000_000),
        (
            refused("unknown among 10,000 worded tools", worded, "get_wether_report", "{}".to_owned()),
            2_000_000,
        ),
        (refused("wrong value of 200,000 names", listed, "pick", pick("valeu_123456")), 20_000_000),
        (
            refused("wrong value of 200,000 words", listed_words, "pick", pick("get_wether_report")),
            20_000_000,
        ),
        (refused("30,000 wrong items", integers, "sum", many()), 200_000_000),
    ]
}

fn refused(
    name: &'static str,
    tools: impl Fn() -> Option<Registry> + 'static,
    tool: &'static str,
    arguments: String,
) -> Workload {
    let made = OnceLock::new();
    Workload::without_floor(name, move |show| {
        let Some(tools) = made.get_or_init(&tools) else { return };
        if let Some(Err(error)) = now(tools.call(black_box(tool), black_box(arguments.as_str()))) {
            show(error.feedback().as_bytes());
        }
    })
}

fn tools(names: impl Iterator<Item = String>) -> Option<Registry> {
    let schema = json!({ "type": "object", "properties": {} });
    let builder = names.fold(Registry::builder(), |builder, name| builder.add(tool(&name, schema.clone())));
    builder.build().ok()
}

fn only(name: &str, schema: Value) -> Option<Registry> {
    Registry::builder().add(tool(name, schema)).build().ok()
}

fn tool(name: &str, schema: Value) -> ClosureTool {
    let builder = ToolBuilder::new(name.to_owned()).description("Does nothing.");
    // An invalid schema would leave the tool without one, which the limit would reveal.
    let builder = match InputSchema::new(schema) {
        Ok(schema) => builder.input_schema(schema),
        Err(_) => builder,
    };
    builder.expect_handler(|_: Value, _| async { Ok::<_, ToolError>(()) })
}

fn listed() -> Option<Registry> {
    enumeration((0..200_000).map(|at| format!("value_{at:06}")))
}

fn listed_words() -> Option<Registry> {
    enumeration((0..200_000).map(words))
}

fn enumeration(names: impl Iterator<Item = String>) -> Option<Registry> {
    let names: Vec<_> = names.collect();
    only("pick", json!({ "properties": { "which": { "enum": names } }, "required": ["which"] }))
}

fn pick(which: &str) -> String {
    json!({ "which": which }).to_string()
}

fn integers() -> Option<Registry> {
    only("sum", json!({ "properties": { "xs": { "items": { "type": "integer" } } } }))
}

fn many() -> String {
    json!({ "xs": vec!["x"; 30_000] }).to_string()
}

/// Returns a name of three words, as real tools have.
fn words(at: usize) -> String {
    const VERBS: [&str; 8] = ["get", "list", "create", "update", "delete", "search", "export", "archive"];
    const NOUNS: [&str; 16] = [
        "weather",
        "issue",
        "invoice",
        "customer",
        "repository",
        "calendar",
        "message",
        "payment",
        "document",
        "project",
        "channel",
        "contact",
        "order",
        "ticket",
        "account",
        "deployment",
    ];
    let pick =
        |words: &'static [&'static str], at: usize| words.get(at % words.len()).copied().unwrap_or_default();
    let (verb, noun) = (pick(&VERBS, at), pick(&NOUNS, at / VERBS.len()));
    format!("{verb}_{noun}_{:x}", (at / 128).wrapping_mul(0x9e37_79b9) & 0xf_ffff)
}
