//! The agent: its tools, and a model without a network.

use std::{env, fs::OpenOptions, io::Write, path::PathBuf};

use tool_agent::{
    Agent, HttpModel, Message, Part, Role,
    model::{Model, Request, Response, ResponseStream, SharedModel},
};
use tool_runtime::{ToolCall, open_calls::ProgramKey, prelude::*};
use tool_session::SqliteStore;

/// The file with the payments.
struct Payments(PathBuf);

/// Pays a bill.
#[tool(destructive, confirm)]
fn pay(
    payments: &Payments,
    /// The recipient.
    to: String,
    /// The amount in EUR.
    amount: u32,
) -> Result<String, ToolError> {
    let line = format!("{amount} EUR to {to:?}\n");
    let written = OpenOptions::new().create(true).append(true).open(&payments.0);
    written
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .map_err(|error| ToolError::failed(format!("the payment was not made: {error}")))?;
    Ok(format!("paid {amount} EUR to {to}"))
}

/// Signs a document on the device of the user.
#[tool(tags("device"))]
fn sign(
    /// The name of the document.
    document: String,
) -> Result<String, ToolError> {
    Err(ToolError::failed(format!("{document} is signed on the device of the user")))
}

/// Returns the executor of the agent, whose open calls are in `store`.
pub(crate) fn executor(payments: PathBuf, store: &SqliteStore, key: &ProgramKey) -> anyhow::Result<Executor> {
    let tools = Registry::builder().discover().provide(Payments(payments)).build()?;
    let executor =
        Executor::builder(tools).external(|call| call.metadata().tags.iter().any(|tag| tag == "device"));
    Ok(executor.open_calls(store.clone()).program_key(key.clone()).build()?)
}

pub(crate) fn agent(executor: Executor) -> anyhow::Result<Agent> {
    let model: SharedModel = match env::var("MODEL") {
        Ok(name) => HttpModel::from_text(&name)?.into(),
        Err(_) => Clerk.into(),
    };
    let instruction = "You are an accountant. Pay bills and request signatures by your tools.";
    Ok(Agent::builder("accountant", model).instruction(instruction).tools(executor).build()?)
}

/// A model without a network: makes a call for each of `pay RECIPIENT AMOUNT` and `sign DOCUMENT`, separated by commas, and repeats the
/// results. It depends on the conversation alone, so that another process continues it.
struct Clerk;

impl Model for Clerk {
    fn name(&self) -> &str {
        "clerk"
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let reply = request.messages.last().map(reply_to).unwrap_or_default();
        ResponseStream::of_future(async move { Ok(Response::new(Message::assistant(reply))) })
    }
}

fn reply_to(message: &Message) -> Vec<Part> {
    if message.role() == Role::Tool {
        let results: Vec<_> = message.tool_results().map(|result| result.text().into_owned()).collect();
        return vec![Part::Text(format!("Done: {}.", results.join("; ")))];
    }
    let text = message.text();
    let calls: Vec<_> = text.split(',').filter_map(|order| call_of(order.trim())).map(Part::Call).collect();
    if calls.is_empty() { vec![Part::Text("What is to be paid or signed?".to_owned())] } else { calls }
}

fn call_of(order: &str) -> Option<ToolCall> {
    match order.split_once(' ')? {
        ("pay", bill) => {
            let (to, amount) = bill.rsplit_once(' ')?;
            let amount: u32 = amount.parse().ok()?;
            Some(ToolCall::new("pay", json!({ "to": to, "amount": amount })))
        }
        ("sign", document) => Some(ToolCall::new("sign", json!({ "document": document }))),
        _ => None,
    }
}
