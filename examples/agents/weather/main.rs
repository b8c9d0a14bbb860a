//! An agent with a tool that streams its result, and a clock.
//!
//! ```sh
//! cargo run --bin weather-agent
//! MODEL=openai:gpt-5-mini OPENAI_API_KEY=.. cargo run --bin weather-agent
//! ```
//!
//! `NOW` sets the time of the clock, in seconds since 1970, for an output that does not change.

use std::{
    env,
    time::{SystemTime, UNIX_EPOCH},
};

use agent_examples::{model, show};
use tool_agent::{Agent, Runner, model::Reply};
use tool_runtime::{ToolCall, output::stream, prelude::*};

/// Forecasts the weather in a city, hour by hour.
#[tool(read_only)]
fn weather(
    /// The city.
    city: String,
) -> impl Stream<Item = String> {
    // Each item is shown when it is ready; the model receives all of them as one result.
    let hours = [("9:00", "rain"), ("12:00", "clouds"), ("15:00", "sun")];
    stream::iter(hours.map(|(hour, sky)| format!("{city} {hour}: {sky}\n")))
}

/// Tells the time of day, in UTC.
#[tool(read_only)]
fn time() -> anyhow::Result<String> {
    let seconds = match env::var("NOW") {
        Ok(now) => now.parse()?,
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    Ok(format!("{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let calls = [ToolCall::new("time", "{}"), ToolCall::new("weather", json!({ "city": "Oslo" }))];
    let script =
        [Reply::calls(calls), Reply::text("It is still early: take an umbrella until noon.").with_words()];
    let agent = Agent::builder("weather-assistant", model(script)?)
        .instruction("Look up the time and the weather before you answer. Answer in one sentence.")
        .tools(Registry::discover()?)
        .build()?;
    show(Runner::new(agent).run("Do I need an umbrella in Oslo today?")).await?;
    Ok(())
}
