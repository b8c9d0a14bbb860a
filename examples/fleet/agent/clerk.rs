//! A model without a network. It depends on the conversation alone, so that another process continues it.

use tool_agent::{
    Message, Part, Role,
    model::{Model, Request, Response, ResponseStream},
};
use tool_runtime::{ToolCall, prelude::*};

/// Makes a call for each order `pay RECIPIENT AMOUNT`, separated by commas, and repeats the results.
pub(crate) struct Clerk;

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
    if calls.is_empty() { vec![Part::Text("What is to be paid?".to_owned())] } else { calls }
}

fn call_of(order: &str) -> Option<ToolCall> {
    let (to, amount) = order.strip_prefix("pay ")?.rsplit_once(' ')?;
    let amount: u32 = amount.parse().ok()?;
    Some(ToolCall::new("payments__pay", json!({ "to": to, "amount": amount })))
}
