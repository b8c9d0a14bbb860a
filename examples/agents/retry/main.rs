//! A tool that fails once, retried by the executor: in the run of an agent, and in a batch without one.
//!
//! ```sh
//! cargo run --bin retry-agent
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

use agent_examples::{model, show, show_call};
use tool_agent::{Agent, Runner, model::Reply};
use tool_runtime::{
    ToolCall,
    context::{LogLevel, LogLine},
    definition::Retry,
    executor::StreamItem,
    policy::RetryPolicy,
    prelude::*,
};

/// A weather station that is busy at every other request.
#[derive(Default)]
struct Station {
    requests: AtomicU32,
}

/// Measures the temperature of a city.
#[tool(read_only)]
fn measure(
    cx: &ToolContext,
    station: &Station,
    /// The city.
    city: String,
) -> Result<String, ToolError> {
    if station.requests.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
        cx.log(LogLine::new(LogLevel::Warning, format!("attempt {} failed", cx.attempt())))?;
        return Err(ToolError::failed("the station is busy").retryable(true));
    }
    cx.log(LogLine::new(LogLevel::Info, format!("attempt {} succeeded", cx.attempt())))?;
    Ok(format!("21 °C in {city}"))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let tools = Registry::builder().discover().provide(Station::default()).build()?;
    let retry = RetryPolicy::new(Retry { attempts: 3, initial_ms: 1, ..Retry::DEFAULT });
    let executor = Executor::builder(tools).retry(retry).build()?;
    let call = ToolCall::new("measure", json!({ "city": "Paris" }));

    println!("An agent:");
    let script = [Reply::calls([call.clone()]), Reply::text("It is 21 °C.")];
    let agent = Agent::builder("thermometer", model(script)?)
        .instruction("Measure the temperature before you answer.")
        .tools(executor.clone())
        .build()?;
    show(Runner::new(agent).run("How warm is it in Paris?")).await?;

    println!("A batch:");
    let mut batch = executor.batch(vec![call]).stream();
    while let Some(item) = batch.next().await {
        if let StreamItem::Event(event) = item {
            show_call(&event.kind);
        }
    }
    Ok(())
}
