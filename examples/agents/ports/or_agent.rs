//! `or`: a search with limits and a default, updates, a sequential tool, a tool that panics, and a tool that asks the run to end.

use agent_examples::{model, show};
use tool_agent::{Agent, Runner, model::Reply};
use tool_runtime::{ToolCall, output::Actions, prelude::*, serde_json::Map};

const DOCS: [&str; 3] = ["registry: a set of tools", "executor: batches of tools", "hook: around a call"];

/// Searches the documentation.
#[tool(register = false, prepare = ten_at_most)]
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

/// Rebuilds the index; no other call runs at the same time.
#[tool(register = false, sequential)]
fn reindex() -> &'static str {
    "indexed"
}

/// Checks the index.
#[tool(register = false)]
#[expect(clippy::panic, reason = "the example shows the result of a panic")]
fn check() -> String {
    panic!("the index is corrupt")
}

/// Ends the run.
#[tool(register = false)]
fn finish(cx: &ToolContext) -> Result<&'static str, ToolError> {
    cx.add_actions(Actions { terminate: true, ..Actions::default() })?;
    Ok("goodbye")
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let call = |name: &str, arguments: Value| ToolCall::new(name, arguments);
    let script = [
        Reply::calls([
            call("search_docs", json!({ "query": "tools" })),
            call("search_docs", json!({ "query": "" })),
            call("search_docs", json!({ "query": "call", "limit": 51 })),
        ]),
        Reply::calls([call("check", json!({})), call("reindex", json!({}))]),
        Reply::calls([call("finish", json!({}))]),
    ];
    let tools = Registry::builder().tool::<search_docs>().tool::<reindex>().tool::<check>().tool::<finish>();
    let agent = Agent::builder("librarian", model(script)?).tools(tools.build()?).build()?;
    let end = show(Runner::new(agent).run("Look for tools, then close the library.")).await?;
    println!("{}, after {} requests", end.reason, end.usage.rounds);
    Ok(())
}
