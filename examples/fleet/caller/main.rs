//! Answers the calls of the quick start's response by the workers of the pool `weather`, and prints one message for each call.
//!
//! ```sh
//! cargo run --bin fleet-caller -- nats://127.0.0.1:4222 program.key
//! ```

use std::{env, fs, path::Path};

use anyhow::{Context as _, bail};
use tool_fleet::{FleetToolSet, NatsTransport};
use tool_runtime::{
    CallOutcome, Dialect, Executor, RunContext, Toolbox, open_calls::ProgramKey, prelude::*, serde_json,
};

const POOL: &str = "weather";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, key_file] = &arguments[..] else { bail!("usage: fleet-caller NATS_URL PROGRAM_KEY_FILE") };
    // The caller has the key of the program; workers have the key of their pool alone.
    let key = ProgramKey::load_or_create(key_file)?.pool_key(POOL);
    let toolbox = Toolbox::new();
    // Without a worker, the list is an error.
    toolbox.strict_listing(true);
    toolbox.add_toolset(FleetToolSet::connect(NatsTransport::connect(url).await?, key).await?)?;
    let tools = toolbox.snapshot(&RunContext::new()).await?.into_tools();
    eprintln!("{} tools in the pool `{POOL}`", tools.len());

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../quickstart/response.json");
    let response = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let response: Value = serde_json::from_str(&response).context("reading the model's response")?;
    let openai = Dialect::openai_chat().bind_tools(&tools);
    let mut calls = openai.calls(&response).context("reading the model's response")?;
    // The response was made for the tools in one process; those of a pool have its name as their prefix.
    for call in &mut calls {
        call.name = format!("{POOL}__{}", call.name);
    }
    let outcomes = Executor::new(tools.clone()).run(calls).await;
    let results: Vec<_> = outcomes.iter().filter_map(CallOutcome::result).cloned().collect();
    for message in openai.results(&results).as_array().into_iter().flatten() {
        println!("{message}");
    }
    Ok(())
}
