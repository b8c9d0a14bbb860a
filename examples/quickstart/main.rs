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

use std::{env, fs, path::Path, sync::Arc};

use anyhow::Context as _;
use tool_runtime::{ToolCall, ToolResult, dialect::Dialect, prelude::*, serde_json};

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

    // What stands between the tools and the JSON of this API; there is one for each of the others.
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

    report::heading(&format!("What the model asked for: {} calls", calls.len()));
    let mut results = Vec::new();
    for (number, call) in (1..).zip(&calls) {
        report::call(number, call);
        let outcome = answer(&tools, call).await;
        report::result(&outcome);
        results.push(ToolResult::new(call.id.clone(), Arc::clone(&call.name), outcome));
    }

    report::heading("What goes back to the model: one message for each call");
    for message in openai.results(&results).as_array().into_iter().flatten() {
        println!("{message}");
    }
    Ok(())
}

/// The answer to one call, whatever becomes of it.
///
/// `tools.call(name, arguments)` would do; a context of one's own adds the model's id of the call,
/// and somebody who watches while it runs. A call that the end of the response cut off is refused first.
async fn answer(tools: &Registry, call: &ToolCall) -> Result<ToolOutput, ToolError> {
    call.completed()?;
    let cx = tools.context_for(&call.name)?.with_call_id(call.id.clone()).with_sink(Arc::new(Watcher));
    tools.call_in(&cx, call.arguments.clone()).await
}
