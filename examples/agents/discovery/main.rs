//! Tools of this program and of a second crate, found at start-up without a list.
//!
//! ```sh
//! cargo run --bin discovery-agent
//! ```

use agent_examples::{model, show};
use tool_agent::{Agent, Runner, model::Reply};
use tool_runtime::{ToolCall, prelude::*};

// The linker drops a library that nothing refers to.
tool_runtime::link!(agent_units);

/// The arguments of `area`.
#[tool_args]
struct Rectangle {
    /// The width in centimetres.
    width: f64,
    /// The height in centimetres.
    height: f64,
}

/// Calculates the area of a rectangle, in square centimetres.
#[tool(read_only)]
fn area(Rectangle { width, height }: Rectangle) -> f64 {
    width * height
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let tools = Registry::discover()?;
    for definition in tools.definitions() {
        println!("{}: {}", definition.name(), definition.description());
        println!("  {}", definition.input_schema().as_value());
    }
    let inches = |inches: u32| ToolCall::new("inches_to_centimetres", json!({ "inches": inches }));
    let script = [
        Reply::calls([inches(10), inches(5)]),
        Reply::call("area", json!({ "width": 25.4, "height": 12.7 })),
        Reply::text("The sheet has 322.58 square centimetres."),
    ];
    let agent = Agent::builder("surveyor", model(script)?)
        .instruction("Use the tools for conversions and areas.")
        .tools(tools)
        .build()?;
    show(Runner::new(agent).run("What is the area of a sheet of 10 by 5 inches?")).await?;
    Ok(())
}
