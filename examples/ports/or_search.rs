//! `or`: a search with limits and a default, a sequential tool, a tool that ends the run, and a tool that panics.

use tool_runtime::{Executor, ToolCall, call::merged_actions, output::Actions, prelude::*, serde_json::Map};

const DOCS: [&str; 3] = ["registry: a set of tools", "executor: batches of tools", "hook: around a call"];

/// Searches the documentation.
#[tool(prepare = ten_at_most)]
async fn search_docs(
    #[schemars(length(min = 1))] query: &str,
    #[schemars(range(min = 1, max = 50))] limit: usize,
    cx: &ToolContext,
) -> ToolOutput {
    cx.update("connecting").await;
    let rows: Vec<_> = DOCS.into_iter().filter(|row| row.contains(query)).take(limit).collect();
    cx.update(format!("{} rows", rows.len())).await;
    ToolOutput::from(rows.join("\n")).with_details(json!({ "limit": limit, "rows": rows.len() }))
}

fn ten_at_most(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    arguments.entry("limit").or_insert(json!(10));
    Ok(())
}

/// Rebuilds the index; runs alone.
#[tool(sequential)]
fn reindex() -> &'static str {
    "indexed"
}

/// Ends the run.
#[tool]
fn finish(cx: &ToolContext) -> Result<&'static str, ToolError> {
    cx.add_actions(Actions { terminate: true, ..Actions::default() })?;
    Ok("goodbye")
}

/// Checks the index.
#[tool]
#[expect(clippy::panic, reason = "the example shows the result of a panic")]
fn check() -> String {
    panic!("the index is corrupt")
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let tools = Registry::builder().tool::<search_docs>().tool::<reindex>().tool::<finish>().tool::<check>();
    let executor = Executor::builder(tools.build()?)
        .after_update(|call, text| async move { println!("  {}: {text}", call.id()) })
        .build()?;
    for calls in [
        vec![
            ToolCall::new("search_docs", json!({ "query": "tools" })).with_id("found"),
            ToolCall::new("search_docs", json!({ "query": "" })).with_id("empty"),
            ToolCall::new("search_docs", json!({ "query": "call", "limit": 51 })).with_id("many"),
        ],
        vec![
            ToolCall::new("check", json!({})).with_id("check"),
            ToolCall::new("reindex", json!({})).with_id("alone"),
        ],
        vec![ToolCall::new("finish", json!({})).with_id("finish")],
    ] {
        let outcomes = executor.run(calls).await;
        for result in outcomes.iter().filter_map(|outcome| outcome.result()) {
            println!("{}: {}", result.id, result.text().replace('\n', " / "));
            result.details().iter().for_each(|details| println!("  for the log: {details}"));
        }
        println!("ends: {}", merged_actions(&outcomes).terminate);
    }
    Ok(())
}
