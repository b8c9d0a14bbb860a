//! A model asked for eight calls; this program answers each of them.
//!
//! `response.json` has the form in which a chat-completions API sends it. The tools are in the
//! modules below, each in another form, and `main` names none of them: functions and structs are
//! discovered, methods come with their value.
//!
//! ```sh
//! cargo run --bin quickstart                      # the whole story
//! cargo run --bin quickstart -- --definitions     # the tools, as the API wants them
//! ```

mod bulletin;
mod observations;
mod report;
mod stations;
mod temperature;
mod wire;

use std::{env, fs, path::Path, sync::Arc};

use anyhow::Context as _;
use tool_runtime::{prelude::*, serde_json};

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

    let definitions = wire::definitions(&tools);
    if env::args().any(|argument| argument == "--definitions") {
        println!("{}", serde_json::to_string_pretty(&definitions)?);
        return Ok(());
    }
    report::definitions(&tools, &definitions)?;

    let path = here.join("response.json");
    let response = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let calls = wire::tool_calls(&response).context("reading the model's response")?;

    report::heading(&format!("What the model asked for: {} calls", calls.len()));
    let mut messages = Vec::new();
    for (number, call) in (1..).zip(&calls) {
        report::call(number, call);
        let result = answer(&tools, call).await;
        report::result(&result);
        messages.push(wire::tool_message(&call.id, &result));
    }

    report::heading("What goes back to the model: one message for each call");
    for message in &messages {
        println!("{message}");
    }
    Ok(())
}

/// The answer to one call, whatever becomes of it.
///
/// `tools.call(name, arguments)` would do; a context of one's own adds the model's id of the call,
/// and somebody who watches while it runs.
async fn answer(tools: &Registry, call: &wire::ToolCall) -> Result<ToolOutput, ToolError> {
    let cx =
        tools.context_of(&call.function.name)?.with_call_id(call.id.as_str()).with_sink(Arc::new(Watcher));
    tools.call_in(&cx, &call.function.arguments).await
}
