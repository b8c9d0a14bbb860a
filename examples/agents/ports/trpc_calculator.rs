//! tRPC-Agent-Go: an agent with a calculator, and a loop that prints errors, calls with their parameters, and text as it streams.

use std::io::{self, Write};

use agent_examples::model;
use tool_agent::{Agent, AgentEventKind, Runner, model::Reply};
use tool_runtime::{event::EventKind, policy::Escape, prelude::*};

/// Calculates: `add` or `multiply`.
#[tool(register = false)]
fn calculator(operation: &str, a: f64, b: f64) -> Result<f64, String> {
    match operation {
        "add" => Ok(a + b),
        "multiply" => Ok(a * b),
        other => Err(format!("unsupported operation: {other}")),
    }
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let script = [
        Reply::call("calculator", json!({ "operation": "times", "a": 25, "b": 4 })),
        Reply::call("calculator", json!({ "operation": "multiply", "a": 25, "b": 4 })),
        Reply::text("25 times 4 is 100.").with_words(),
    ];
    let agent = Agent::builder("calculator-assistant", model(script)?)
        .instruction("You are a math assistant. Calculate with your tool.")
        .tools(Registry::builder().tool::<calculator>().build()?)
        .build()?;
    let runner = Runner::new(agent).with_app("math-app");
    let run = RunContext::new().with_user("user1").with_session("session1");
    let mut events = runner.run_with(run, "Please calculate 25 times 4.");
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Text { delta } => print!("{}", Escape::LINES.text(&delta)),
            AgentEventKind::Tool { event } => match event.kind {
                EventKind::Started { call } => {
                    println!("{} {}", call.name, Escape::LINE.text(call.arguments.as_str()))
                }
                EventKind::Finished { result } if result.is_error() => {
                    println!("error: {}", Escape::LINE.text(&result.text()));
                }
                _ => {}
            },
            AgentEventKind::Ended { end } => println!("\n{}", end.reason),
            _ => {}
        }
        io::stdout().flush()?;
    }
    Ok(())
}
