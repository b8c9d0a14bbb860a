//! Answers the calls of the quick start's response by the workers of the pool `weather`, and prints one message for each call.
//!
//! ```sh
//! cargo run --bin fleet-caller -- nats://127.0.0.1:4222 program.key
//! ```
//!
//! With `--durable`, it queues the calls and ends; with `--results`, another process prints their messages later, whenever a worker of the queue
//! (`work --durable`) has run them. The folder has a database with the open calls; the server of NATS needs JetStream (`nats-server -js -sd FOLDER`).
//!
//! ```sh
//! cargo run --bin fleet-caller -- nats://127.0.0.1:4222 program.key --durable calls
//! cargo run --bin fleet-worker -- work --nats nats://127.0.0.1:4222 --key weather.key --durable     # in another terminal
//! cargo run --bin fleet-caller -- nats://127.0.0.1:4222 program.key --results calls
//! ```

mod durable;

use std::{env, fs, path::Path};

use anyhow::{Context as _, bail};
use tool_fleet::{FleetToolSet, NatsTransport};
use tool_runtime::{
    CallOutcome, Dialect, Executor, Registry, RunContext, ToolResult, Toolbox, open_calls::ProgramKey,
    prelude::*, serde_json,
};

use self::durable::{queue_calls, take_results};

const POOL: &str = "weather";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [url, key_file, order @ ..] = &arguments[..] else { return usage() };
    // The caller has the key of the program; workers have the key of their pool alone.
    let key = ProgramKey::load_or_create(key_file)?;
    let transport = NatsTransport::connect(url).await?;
    match order {
        [] => {
            let toolbox = Toolbox::new();
            let set = FleetToolSet::connect(transport, key.pool_key(POOL)).await?;
            let tools = list_tools(&toolbox, set).await?;
            let outcomes = Executor::new(tools.clone()).run(read_calls(&tools)?).await;
            let results: Vec<_> = outcomes.iter().filter_map(CallOutcome::result).cloned().collect();
            print_messages(&tools, &results);
            Ok(())
        }
        ["--durable", folder] => queue_calls(transport, key, Path::new(folder)).await,
        ["--results", folder] => take_results(transport, key, Path::new(folder)).await,
        _ => usage(),
    }
}

fn usage() -> anyhow::Result<()> {
    bail!("usage: fleet-caller NATS_URL PROGRAM_KEY_FILE [--durable FOLDER | --results FOLDER]")
}

/// Lists the tools of the workers that answer. The toolbox keeps the connection to them.
async fn list_tools(toolbox: &Toolbox, set: FleetToolSet) -> anyhow::Result<Registry> {
    // Without a worker, the list is an error.
    toolbox.strict_listing(true);
    toolbox.add_toolset(set)?;
    let tools = toolbox.snapshot(&RunContext::new()).await?.into_tools();
    eprintln!("{} tools in the pool `{POOL}`", tools.len());
    Ok(tools)
}

/// Reads the calls of the model's response.
fn read_calls(tools: &Registry) -> anyhow::Result<Vec<ToolCall>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../quickstart/response.json");
    let response = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let response: Value = serde_json::from_str(&response).context("reading the model's response")?;
    let openai = Dialect::openai_chat().bind_tools(tools);
    let mut calls = openai.calls(&response).context("reading the model's response")?;
    // The response was made for the tools in one process; those of a pool have its name as their prefix.
    for call in &mut calls {
        call.name = format!("{POOL}__{}", call.name);
    }
    Ok(calls)
}

fn print_messages(tools: &Registry, results: &[ToolResult]) {
    for message in Dialect::openai_chat().bind_tools(tools).results(results).as_array().into_iter().flatten()
    {
        println!("{message}");
    }
}
