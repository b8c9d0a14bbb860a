//! An agent that a model puts together: a clerk starts a helper with one of its tools, and a rule of the clerk denies one of the
//! helper's calls.
//!
//! ```sh
//! cargo run --bin dynamic-agent
//! MODEL=anthropic:claude-sonnet-4-5 ANTHROPIC_API_KEY=.. cargo run --bin dynamic-agent
//! ```

use std::{collections::BTreeMap, sync::Mutex};

use agent_examples::{model, show};
use tool_agent::{Agent, DynamicAgentTool, Limits, Runner, model::Reply};
use tool_runtime::{
    Executor, ToolCall,
    policy::{PathPattern, Rule, Rules},
    prelude::*,
};

/// The sizes of the files by their paths.
type Files = Mutex<BTreeMap<String, u32>>;

/// Lists the files and their sizes.
#[tool(read_only)]
fn list_files(files: &Files) -> Result<BTreeMap<String, u32>, ToolError> {
    Ok(files.lock().map_err(|_| ToolError::failed("the list is broken"))?.clone())
}

/// Removes a file.
#[tool(destructive)]
fn remove_file(path: String, files: &Files) -> Result<String, ToolError> {
    let mut files = files.lock().map_err(|_| ToolError::failed("the list is broken"))?;
    match files.remove(&path) {
        Some(bytes) => Ok(format!("{path} is removed, {bytes} bytes are free")),
        None => Err(ToolError::not_found(format!("there is no file {path}"))),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let remove =
        |id: &str, path: &str| ToolCall::new("remove_file", json!({ "path": path })).with_id(id.to_owned());
    let script = [
        Reply::calls([remove("k1", "/tmp/a.log"), remove("k2", "/etc/hosts")]),
        Reply::text("/tmp/a.log is removed; /etc/hosts may not be removed."),
    ];
    let template = Agent::builder("helper", model(script)?)
        .instruction("Do what you are asked, and report what you could not do.")
        .limits(Limits { rounds: Some(5), ..Limits::default() })
        .build()?;
    let helper = DynamicAgentTool::builder(template).build()?;

    let files = [("/tmp/a.log", 9_000), ("/etc/hosts", 200)].map(|(path, bytes)| (path.to_owned(), bytes));
    let tools = Registry::builder()
        .tool::<list_files>()
        .tool::<remove_file>()
        .add(helper)
        .provide(Files::new(BTreeMap::from(files)))
        .build()?;
    let rules = Rules::new([Rule::deny("remove_file").at("/path", PathPattern::new("/etc/**")?)]);
    let request = json!({
        "request": "Remove /tmp/a.log and /etc/hosts.",
        "instruction": "Answer in one sentence.",
        "tools": ["remove_file"],
    });
    let script = [
        Reply::call("list_files", json!({})),
        Reply::call("dynamic_agent", request),
        Reply::text("One file is gone, and /etc/hosts has to stay."),
    ];
    let clerk = Agent::builder("clerk", model(script)?)
        .tools(Executor::builder(tools).rules(rules).build()?)
        .build()?;
    show(Runner::new(clerk).run("Free some space.")).await?;
    Ok(())
}
