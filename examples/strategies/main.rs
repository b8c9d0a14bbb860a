//! The same three calls under each execution strategy: sequential, parallel, and in batches of two.
//!
//! ```sh
//! cargo run -p examples --bin strategies
//! ```

use std::time::Duration;

use tokio::time::sleep;
use tool_runtime::{Executor, ToolCall, executor::ExecutionStrategy, prelude::*};

/// Requests the temperature from a station; each station responds after a different delay.
#[tool(read_only)]
async fn temperature(
    /// Name of the station.
    station: &str,
) -> Result<String, String> {
    let (milliseconds, celsius) = match station {
        "Oslo" => (150, 4),
        "Paris" => (100, 11),
        "Rome" => (50, 17),
        _ => return Err(format!("there is no station in {station}")),
    };
    println!("  {station}: request");
    sleep(Duration::from_millis(milliseconds)).await;
    println!("  {station}: response");
    Ok(format!("{celsius} °C in {station}"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let tools = Registry::discover()?;
    for strategy in
        [ExecutionStrategy::Sequential, ExecutionStrategy::Parallel, ExecutionStrategy::Batched { size: 2 }]
    {
        println!("{strategy:?}");
        let executor = Executor::builder(tools.clone()).strategy(strategy).build()?;
        let stations = ["Oslo", "Paris", "Rome"];
        let calls = stations.map(|station| ToolCall::new("temperature", json!({ "station": station })));
        // The results are in the order of the calls, not in the order in which the stations respond.
        for outcome in executor.run(calls.into()).await {
            if let Some(result) = outcome.result() {
                println!("  -> {}", result.text());
            }
        }
    }
    Ok(())
}
