//! Code that the example programs share: the choice of the model, and the output of events.

use std::{
    env,
    io::{self, Write},
};

use tool_agent::{
    AgentEventKind, AgentStream, End, HttpModel, ScriptedModel,
    model::{Reply, SharedModel},
};
use tool_runtime::{event::EventKind, policy::Escape};

/// Returns the model of the variable `MODEL`, such as `anthropic:claude-sonnet-4-5`. Without the variable, a scripted
/// model gives these replies: only the model is scripted, and tools, rules and approvals are real.
///
/// # Errors
///
/// Returns an error if the variable has another form.
pub fn model(script: impl IntoIterator<Item = Reply>) -> anyhow::Result<SharedModel> {
    match env::var("MODEL") {
        Ok(name) => Ok(HttpModel::from_text(&name)?.into()),
        Err(_) => Ok(ScriptedModel::new(script).into()),
    }
}

/// Prints the text of a run as it arrives, and its calls; returns the end.
///
/// # Errors
///
/// Returns an error if the output cannot be written, or if the run ends without an answer.
pub async fn show(mut events: AgentStream) -> anyhow::Result<End> {
    let mut is_in_line = false;
    while let Some(event) = events.next().await {
        if is_in_line && !matches!(event.kind, AgentEventKind::Text { .. } | AgentEventKind::Usage { .. }) {
            println!();
            is_in_line = false;
        }
        show_child(&event.kind);
        match event.kind {
            AgentEventKind::Text { delta } => {
                print!("{}", Escape::LINES.text(&delta));
                is_in_line = true;
            }
            AgentEventKind::Tool { event } => show_call(&event.kind),
            AgentEventKind::Transferred { to } => {
                println!("[{} transfers to {}]", Escape::LINE.text(&event.agent), Escape::LINE.text(&to));
            }
            AgentEventKind::Notice { text } => println!("[{}]", Escape::LINES.text(&text)),
            AgentEventKind::Ended { end } => {
                anyhow::ensure!(end.reason.is_success() || !end.open.is_empty(), "{}", end.reason);
                return Ok(end);
            }
            _ => {}
        }
        io::stdout().flush()?;
    }
    anyhow::bail!("the run has no end")
}

/// Prints the calls of runs below a call, each with the agent that made it.
fn show_child(event: &AgentEventKind) {
    let AgentEventKind::Child { event, .. } = event else { return };
    if let AgentEventKind::Tool { event: call } = &event.kind
        && matches!(call.kind, EventKind::Started { .. } | EventKind::Finished { .. })
    {
        print!("{} > ", Escape::LINE.text(&event.agent));
        show_call(&call.kind);
    }
    show_child(&event.kind);
}

/// Prints an event of a call. Text of tools and models reaches the terminal without control characters.
pub fn show_call(event: &EventKind) {
    let safe = |text: &str| Escape::LINES.text(text.trim_end()).to_string();
    match event {
        EventKind::Started { call } => println!("[{} {}]", safe(&call.name), safe(call.arguments.as_str())),
        EventKind::Updated { update, .. } => println!("[.. {}]", safe(&update.text())),
        EventKind::Log { line } => println!("[.. {}]", safe(&line.message)),
        EventKind::Finished { result } => println!("[{}: {}]", safe(&result.name), safe(&result.text())),
        _ => {}
    }
}
