//! A call that the program leaves to its front end: the run is interrupted, and continues with the result.
//!
//! ```sh
//! cargo run --bin external-agent
//! ```

use agent_examples::{model, show};
use tool_agent::{Agent, Answers, Runner, model::Reply};
use tool_runtime::{CallOutcome, prelude::*};

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
        Reply::call("show_on_map", place),
        Reply::text("Café Central is on your map."),
    ];
    let agent = Agent::builder("guide", model(script)?).tools(executor).build()?;
    let runner = Runner::new(agent);
    let session = || RunContext::new().with_session("s-1");

    let end = show(runner.run_with(session(), "Where can I have coffee in Vienna?")).await?;
    println!("The run ended: {}.", end.reason);
    let mut answers = Answers::new();
    for outcome in &end.open {
        let CallOutcome::External(call, address) = outcome else { continue };
        println!("The front end runs {} {}.", call.name, call.arguments.as_str());
        answers = answers.result(address, Ok(ToolOutput::from("shown")));
    }
    show(runner.resume(session(), answers)).await?;
    Ok(())
}
