//! A desk that transfers the conversation: the specialist answers, also the next message, and gives the conversation back.
//!
//! ```sh
//! cargo run --bin transfer
//! MODEL=anthropic:claude-sonnet-4-5 ANTHROPIC_API_KEY=.. cargo run --bin transfer
//! ```

use agent_examples::{model, show};
use tool_agent::{Agent, Runner, model::Reply};
use tool_runtime::{RunContext, prelude::*};

/// Returns the state of an invoice.
#[tool(read_only)]
fn invoice(number: u32) -> Result<String, ToolError> {
    match number {
        7 => Ok("717 euros, due on 1 December, not paid".to_owned()),
        _ => Err(ToolError::not_found(format!("no invoice {number} is known"))),
    }
}

fn transfer(agent: &str) -> Reply {
    Reply::call("transfer_to_agent", json!({ "agent_name": agent }))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let script = [
        Reply::call("invoice", json!({ "number": 7 })),
        Reply::text("It is not paid: 717 euros are due on 1 December."),
        Reply::text("Yes, by card."),
        transfer("desk"),
    ];
    let billing = Agent::builder("billing", model(script)?)
        .description("Answers questions about invoices and payments.")
        .instruction("Answer questions about invoices, and transfer all others to the desk.")
        .tools(Registry::builder().tool::<invoice>().build()?)
        .build()?;

    let script = [transfer("billing"), Reply::text("We close at six.")];
    let desk = Agent::builder("desk", model(script)?)
        .instruction("Answer questions about the shop, which closes at six, and transfer all others.")
        .sub_agent(billing)
        .build()?;

    let runner = Runner::new(desk);
    for message in ["Is invoice 7 paid?", "Can I pay it here?", "When do you close?"] {
        println!("> {message}");
        show(runner.run_with(RunContext::new().with_session("s-1"), message)).await?;
    }
    Ok(())
}
