//! An agent as a tool: a manager asks a researcher, whose calls are shown below its own.
//!
//! ```sh
//! cargo run --bin manager
//! MODEL=anthropic:claude-sonnet-4-5 ANTHROPIC_API_KEY=.. cargo run --bin manager
//! ```

use agent_examples::{model, show};
use tool_agent::{Agent, AgentTool, Limits, Runner, model::Reply};
use tool_runtime::prelude::*;

/// Returns the number of inhabitants of a town.
#[tool(read_only)]
fn inhabitants(town: String) -> Result<u32, ToolError> {
    match town.as_str() {
        "Bergen" => Ok(291_940),
        "Oslo" => Ok(717_710),
        _ => Err(ToolError::not_found(format!("no town `{town}` is known"))),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let look_up = |town: &str| Reply::call("inhabitants", json!({ "town": town }));
    let script = [look_up("Oslo"), look_up("Bergen"), Reply::text("Oslo has 717,710, Bergen 291,940.")];
    let researcher = Agent::builder("researcher", model(script)?)
        .description("Looks up facts about towns.")
        .instruction("Answer with facts that your tools return, and nothing else.")
        .tools(Registry::builder().tool::<inhabitants>().build()?)
        .limits(Limits { rounds: Some(10), ..Limits::default() })
        .build()?;

    let request = json!({ "request": "How many people live in Oslo, and how many in Bergen?" });
    let script = [Reply::call("researcher", request), Reply::text("Oslo is larger, by 425,770 people.")];
    let manager = Agent::builder("manager", model(script)?)
        .tools(Registry::builder().add(AgentTool::new(researcher)?).build()?)
        .build()?;

    let end = show(Runner::new(manager).run("Which is larger, Oslo or Bergen?")).await?;
    let children = end.usage.children;
    println!("{} run below the manager, with {} calls", children.runs, children.calls);
    Ok(())
}
