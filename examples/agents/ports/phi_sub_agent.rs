//! phi-core: a sub-agent with its own prompt, model and tools, whose activity is among the events of its parent; batches of two with a
//! steering check between them; hooks around calls and updates.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, Ordering},
};

use agent_examples::{model, show_call};
use tool_agent::{Agent, AgentEventKind, Role, RunHandle, Runner, SubAgentTool, Thinking, model::Reply};
use tool_runtime::{
    Executor, ToolCall, executor::ExecutionStrategy, hook::Before, policy::Escape, prelude::*,
};

/// Reads a file, part by part.
#[tool(register = false, read_only)]
async fn read(path: &str, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    for part in ["secret", "open"] {
        if cx.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        cx.update(format!("a {part} part of {path}")).await;
    }
    Ok(ToolOutput::from(format!("{path} is empty")).with_details(json!({ "call": cx.call_id() })))
}

/// Returns the id of a call, which the model chose, for the terminal.
fn line(id: &impl ToString) -> String {
    Escape::LINE.text(&id.to_string()).to_string()
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let files = Executor::builder(Registry::builder().tool::<read>().build()?)
        .before_update(|_, text| async move { !text.contains("secret") })
        .after_update(|call, text| async move {
            println!("  after an update of {}: {}", line(call.id()), Escape::LINES.text(&text));
        })
        .build()?;
    let read = |path: &str| {
        Reply::calls([ToolCall::new("read", json!({ "path": path })).with_id(format!("read {path}"))])
    };
    let script = [read("a.md"), Reply::text("Nothing in a."), read("b.md"), Reply::text("Nothing in b.")];
    let reader = SubAgentTool::builder("reader", model(script)?)
        .description("Reads files and reports on them.")
        .instruction("Read the file and report in one sentence.")
        .thinking(Thinking::Low)
        .tools(files)
        .build()?;

    // A message of the user arrives after two files, and skips the remaining call.
    let (handle, count) = (Arc::new(OnceLock::<RunHandle>::new()), AtomicU32::new(0));
    let user = Arc::clone(&handle);
    let executor = Executor::builder(Registry::builder().add(reader).build()?)
        .strategy(ExecutionStrategy::Batched { size: 2 })
        .before(|call| async move {
            println!("before {}", line(call.id()));
            Ok(Before::Continue)
        })
        .after(move |call, result| {
            if count.fetch_add(1, Ordering::Relaxed) == 1 {
                user.get().iter().for_each(|handle| handle.steer("Not the rest, please."));
            }
            async move {
                println!("after {}", line(call.id()));
                Ok(result)
            }
        })
        .build()?;
    let ask = |(id, path): (&str, &str)| {
        ToolCall::new("reader", json!({ "task": format!("Read {path}.") })).with_id(id)
    };
    let calls = [("1", "a.md"), ("2", "b.md"), ("3", "c.md")].map(ask);
    let script = [Reply::calls(calls), Reply::text("As you like: I leave out c.")];
    let agent = Agent::builder("clerk", model(script)?).tools(executor).build()?;

    let mut events = Runner::new(agent).run("Read a, b and c.");
    drop(handle.set(events.handle()));
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Child { call, event } => match event.kind {
                AgentEventKind::Tool { event } => {
                    print!("  {} > ", line(&call.call_id));
                    show_call(&event.kind);
                }
                AgentEventKind::Message { message } if !message.text().is_empty() => {
                    println!("  {} > {}", line(&call.call_id), Escape::LINES.text(&message.text()));
                }
                _ => {}
            },
            AgentEventKind::Tool { event } => show_call(&event.kind),
            AgentEventKind::Message { message } if message.role() == Role::User => {
                println!("the user: {}", Escape::LINES.text(&message.text()));
            }
            AgentEventKind::Ended { end } => println!("{}", Escape::LINES.text(&end.text)),
            _ => {}
        }
    }
    Ok(())
}
