//! Answers the eight tool calls of a model's response.
//!
//! `response.json` is a response of a chat-completions API. Each module below defines its tools in
//! another form. `main` names none of them: functions and structs are discovered, and methods are
//! registered with their value.
//!
//! ```sh
//! cargo run --bin quickstart                      # answers the calls
//! cargo run --bin quickstart -- --definitions     # prints the definitions in the API's format
//! ```

mod bulletin;
mod observations;
mod report;
mod stations;
mod temperature;

use std::{env, fs, path::Path, sync::Arc};

use anyhow::Context as _;
use tool_runtime::{Dialect, ToolCall, ToolResult, prelude::*, serde_json};

use self::{bulletin::Bulletin, observations::Observations, report::Watcher, stations::Stations};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("quickstart");
    let tools = Registry::builder()
        .discover()
        .provide(Stations::open(&here.join("data/stations.csv"))?)
        .provide(Bulletin::open(&here.join("data/bulletin.txt"))?)
        .toolset(Observations::open(&here.join("data/observations.csv"))?)
        .build()?;

    // The dialect converts between the tools and the JSON of one API.
    let openai = Dialect::openai_chat().bind_tools(&tools);
    if env::args().any(|argument| argument == "--definitions") {
        println!("{}", serde_json::to_string_pretty(openai.definitions())?);
        return Ok(());
    }
    report::definitions(&tools, openai.definitions())?;

    let path = here.join("response.json");
    let response = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let response: Value = serde_json::from_str(&response).context("reading the model's response")?;
    let calls = openai.calls(&response).context("reading the model's response")?;

    report::heading(&format!("Calls of the model: {}", calls.len()));
    let mut results = Vec::new();
    for (number, call) in (1..).zip(&calls) {
        report::call(number, call);
        let outcome = answer(&tools, call).await;
        report::result(&outcome);
        results.push(ToolResult::new(call.id.clone(), call.name.clone(), outcome));
    }

    report::heading("Messages for the model: one per call");
    for message in openai.results(&results).as_array().into_iter().flatten() {
        println!("{message}");
    }
    Ok(())
}

/// Runs one call and returns its output or error.
///
/// `tools.call(name, arguments)` is the short form. A context adds the id of the call and a sink
/// that receives its updates. A call that was truncated with the response is refused.
async fn answer(tools: &Registry, call: &ToolCall) -> Result<ToolOutput, ToolError> {
    call.completed()?;
    let cx = tools.context_for(&call.name)?.with_call_id(call.id.clone()).with_sink(Arc::new(Watcher));
    tools.call_in(&cx, call.arguments.clone()).await
}
