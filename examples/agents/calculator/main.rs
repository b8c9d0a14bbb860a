//! An agent with one tool, whose answer is streamed.
//!
//! ```sh
//! cargo run --bin calculator
//! MODEL=anthropic:claude-sonnet-4-5 ANTHROPIC_API_KEY=.. cargo run --bin calculator
//! ```
//!
//! Without `MODEL`, a scripted model answers, and no key or network is needed.

use std::{
    env,
    io::{self, Write},
};

use tool_agent::{
    Agent, AgentEventKind, HttpModel, Runner, ScriptedModel,
    model::{Reply, SharedModel},
};
use tool_runtime::{RunContext, event::EventKind, prelude::*};

/// Performs basic arithmetic.
#[tool(read_only)]
fn calculator(
    /// The operation: `add` or `multiply`.
    operation: String,
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
) -> anyhow::Result<f64> {
    match &*operation {
        "add" => Ok(a + b),
        "multiply" => Ok(a * b),
        other => anyhow::bail!("the operation `{other}` is not supported; use `add` or `multiply`"),
    }
}

fn model() -> anyhow::Result<SharedModel> {
    if let Ok(name) = env::var("MODEL") {
        return Ok(HttpModel::from_text(&name)?.into());
    }
    let call = json!({ "operation": "multiply", "a": 25, "b": 4 });
    Ok(ScriptedModel::new([Reply::call("calculator", call), Reply::text("25 times 4 is 100.")]).into())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let agent = Agent::builder("calculator-assistant", model()?)
        .instruction("You are a math assistant. Use the calculator for every calculation.")
        .tools(Registry::discover()?)
        .build()?;
    let runner = Runner::new(agent).with_app("math-app");
    let run = RunContext::new().with_user("user1").with_session("session1");
    let mut events = runner.run_with(run, "Please calculate 25 times 4.");
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Text { delta } => print!("{delta}"),
            AgentEventKind::Tool { event } => match &event.kind {
                EventKind::Started { call } => println!("[{} {}]", call.name, call.arguments.as_str()),
                EventKind::Finished { result } => println!("[{}: {}]", result.name, result.text()),
                _ => {}
            },
            AgentEventKind::Ended { end } if end.reason.is_success() => println!(),
            AgentEventKind::Ended { end } => anyhow::bail!("{}", end.reason),
            _ => {}
        }
        io::stdout().flush()?;
    }
    Ok(())
}
