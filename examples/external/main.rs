//! External calls: a front end runs the call, and the program submits its result.
//!
//! ```sh
//! cargo run -p examples --bin external
//! ```

use tool_runtime::{CallOutcome, Executor, ToolCall, ToolOutput, prelude::*};

/// Returns the current weather in a city.
#[tool(read_only)]
fn weather(
    /// City name.
    city: &str,
) -> String {
    format!("It rains in {city}.")
}

/// Shows a place on the map of the user's screen.
#[tool(tags("front_end"))]
fn show_on_map(
    /// City name.
    city: &str,
) -> Result<String, String> {
    Err(format!("cannot show {city}: this program has no screen"))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let executor = Executor::builder(Registry::discover()?)
        .external(|call| call.metadata().tags.iter().any(|tag| tag == "front_end"))
        .build()?;

    let oslo = json!({ "city": "Oslo" });
    let calls = vec![
        ToolCall::new("weather", oslo.clone()).with_id("call_1"),
        ToolCall::new("show_on_map", oslo).with_id("call_2"),
    ];
    println!("The program runs its own calls:");
    for outcome in executor.run(calls).await {
        match outcome {
            CallOutcome::Finished(result) => println!("  {}: {}", result.id, result.text()),
            CallOutcome::External(call, _) => {
                println!("  {}: external, with {}", call.id, call.arguments.as_str());
            }
            CallOutcome::Pending(pending) => println!("  {}: pending", pending.call.id),
        }
    }

    println!("The front end submits its result:");
    let result = executor.submit_result("call_2", Ok(ToolOutput::from("The map shows Oslo."))).await?;
    println!("  {}: {}", result.id, result.text());

    println!("A second result is refused:");
    if let Err(error) = executor.submit_result("call_2", Ok(ToolOutput::empty())).await {
        println!("  {error}");
    }
    Ok(())
}
