//! A call that the program leaves to its front end: the run is interrupted, and reports the call.
//!
//! ```sh
//! cargo run --bin external-agent
//! ```

use agent_examples::{model, show};
use tool_agent::{Agent, Runner, model::Reply};
use tool_runtime::{CallOutcome, ToolCall, ToolOutput, prelude::*};

/// Finds a café.
#[tool(read_only)]
fn find_cafe(
    /// The city.
    city: String,
) -> String {
    format!("Café Central, {city}")
}

/// Shows a place on the map of the user's screen.
#[tool(tags("front_end"))]
fn show_on_map(
    /// The place.
    place: String,
) -> Result<String, String> {
    Err(format!("cannot show {place}: this program has no screen"))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let executor = Executor::builder(Registry::discover()?)
        .external(|call| call.metadata().tags.iter().any(|tag| tag == "front_end"))
        .build()?;
    let place = json!({ "place": "Café Central, Vienna" });
    let script = [
        Reply::call("find_cafe", json!({ "city": "Vienna" })),
        Reply::calls([ToolCall::new("show_on_map", place).with_id("call_2")]),
    ];
    let agent = Agent::builder("guide", model(script)?).tools(executor.clone()).build()?;
    let end = show(Runner::new(agent).run("Where can I have coffee in Vienna?")).await?;
    println!("The run ended: {}.", end.reason);
    for outcome in &end.open {
        let CallOutcome::External(call, address) = outcome else { continue };
        println!("The front end runs {} {}.", call.name, call.arguments.as_str());
        let result = executor.submit_result(address, Ok(ToolOutput::from("shown"))).await?;
        println!("Its result was accepted: {}.", result.text());
    }
    Ok(())
}
