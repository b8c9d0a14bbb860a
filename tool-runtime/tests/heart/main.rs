//! Tests of registries, macros, arguments, tool sets and policies of `tool-runtime`.
#![allow(missing_docs, dead_code, reason = "fixtures speak for themselves")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may"
)]

#[path = "../common/mod.rs"]
mod common;

mod arguments;
mod attributes;
mod bodies;
mod build;
mod builder;
mod calls;
mod coercion;
mod context;
mod diagnostics;
mod edges;
mod failures;
mod first_steps;
mod flatten;
#[cfg(feature = "foreign-schemas")]
mod foreign;
mod foreign_names;
mod forms;
mod fuzz_corpus;
mod items;
mod map_keys;
mod merging;
mod number_rules;
mod odd_tools;
mod pin_texts;
mod pins;
mod policies;
mod repair;
mod reports;
mod returns;
mod rule_names;
mod rules;
mod schemas;
mod storable;
mod streams;
#[cfg(feature = "testing")]
mod testing;
mod toolbox;
mod tracing;
mod uncovered;

use common::{now, run};
use tool_runtime::{Registry, ToolError, ToolOutput, registry::RegistryBuilder};

/// Calls one tool.
fn call(tools: RegistryBuilder, name: &str, arguments: &str) -> Result<ToolOutput, ToolError> {
    let tools = tools.build().unwrap();
    run(tools.call(name, arguments))
}

/// Returns the text of a successful call.
fn text(tools: RegistryBuilder, name: &str, arguments: &str) -> String {
    match call(tools, name, arguments) {
        Ok(output) => output.text().into_owned(),
        Err(error) => panic!("{error}"),
    }
}

/// Returns the text for the model of a failed call.
fn feedback(tools: RegistryBuilder, name: &str, arguments: &str) -> String {
    match call(tools, name, arguments) {
        Ok(output) => panic!("it succeeded: {output:?}"),
        Err(error) => error.feedback(),
    }
}

/// Returns the input schema of the only tool.
fn schema(tools: RegistryBuilder) -> serde_json::Value {
    definition(tools).input_schema().as_value().clone()
}

/// Returns the definition of the only tool.
fn definition(tools: RegistryBuilder) -> tool_runtime::ToolDefinition {
    let tools: Registry = tools.build().unwrap();
    assert_eq!(tools.len(), 1);
    tools.definitions()[0].clone()
}
