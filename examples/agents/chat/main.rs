//! A conversation at the terminal with a model that calls the tools of a program.
//!
//! ```sh
//! ANTHROPIC_API_KEY=.. cargo run --bin orders -- chat --model anthropic:claude-sonnet-4-5
//! cargo run --bin orders -- chat --model openai:qwen3 --base-url http://127.0.0.1:11434/v1
//! cargo run --bin orders -- chat --script examples/agents/chat/orders.jsonl
//! ```
//!
//! The script answers without a key or a network: ask `Where is order 7?`, then `Cancel it.`

use std::process::ExitCode;

use tool_agent::cli::Chat;
use tool_cli::Cli;
use tool_runtime::prelude::*;

/// Returns the state of an order.
#[tool(read_only)]
fn order_status(
    /// The number of the order.
    order: u32,
) -> anyhow::Result<String> {
    match order {
        7 => Ok("order 7: two lamps, packed, not sent".to_owned()),
        8 => Ok("order 8: a chair, sent on Monday".to_owned()),
        _ => anyhow::bail!("there is no order {order}; the orders are 7 and 8"),
    }
}

/// Cancels an order that was not sent. It cannot be restored.
#[tool(destructive, confirm)]
fn cancel_order(
    /// The number of the order.
    order: u32,
) -> String {
    format!("order {order} is cancelled")
}

fn main() -> ExitCode {
    let instruction =
        "You answer questions about the orders of a shop. Look at an order before you cancel it.";
    let chat = Chat::new().configure(move |agent| agent.instruction(instruction));
    Cli::new().about("Keeps the orders of a shop.").command(chat).main()
}
