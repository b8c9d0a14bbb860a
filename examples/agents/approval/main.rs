//! Rules, and approvals while the run waits: a payment is approved or rejected, a large one is denied.
//!
//! ```sh
//! cargo run --bin approval-agent
//! printf 'y\nn\n' | cargo run --bin approval-agent
//! ```

use std::io::{self, BufRead, Write};

use agent_examples::{model, show_call};
use tool_agent::{Agent, AgentEventKind, Runner, model::Reply};
use tool_runtime::{
    ToolCall,
    event::EventKind,
    policy::{Approval, Escape, NumberPattern, Rule, Rules},
    prelude::*,
};

/// Pays a bill.
#[tool(destructive, confirm)]
fn pay(
    /// The recipient.
    to: String,
    /// The amount in EUR.
    amount: u32,
) -> String {
    format!("paid {amount} EUR to {to}")
}

/// Asks the person at the terminal; no answer is a no.
fn ask(question: &str) -> io::Result<Approval> {
    print!("{question} [y/N] ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    println!();
    Ok(match answer.trim() {
        "y" | "yes" => Approval::Approved,
        _ => Approval::Rejected("rejected by the user".to_owned()),
    })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pay = |to: &str, amount: u32| ToolCall::new("pay", json!({ "to": to, "amount": amount }));
    let script = [
        Reply::calls([pay("the baker", 12), pay("the bank", 40), pay("a stranger", 5000)]),
        Reply::text("These are all bills."),
    ];
    let rules = Rules::new([Rule::deny("pay")
        .at("/amount", NumberPattern::new("> 1000")?)
        .reason("amounts above 1,000 EUR are paid at the bank")]);
    let executor = Executor::builder(Registry::discover()?).rules(rules).build()?;
    let agent =
        Agent::builder("accountant", model(script)?).tools(executor).approvals_by_handle(true).build()?;

    let mut events =
        Runner::new(agent).run("Pay my bills: 12 EUR to the baker, 40 to the bank, 5,000 to a stranger.");
    let handle = events.handle();
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Text { delta } => println!("{}", Escape::LINES.text(&delta)),
            AgentEventKind::Tool { event } => match &event.kind {
                EventKind::ApprovalRequested { request } => {
                    let arguments = Escape::LINE.text(request.call.arguments.as_str());
                    let question = format!("{} {arguments}", request.call.name);
                    let approval = tokio::task::spawn_blocking(move || ask(&question)).await??;
                    handle.approve(&request.address, approval);
                }
                EventKind::Finished { .. } => show_call(&event.kind),
                _ => {}
            },
            AgentEventKind::Ended { end } => anyhow::ensure!(end.reason.is_success(), "{}", end.reason),
            _ => {}
        }
    }
    Ok(())
}
