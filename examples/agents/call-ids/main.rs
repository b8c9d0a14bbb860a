//! Cards for calls: the events below each call are linked to the card of that call, although the model gives two calls one id.
//!
//! ```sh
//! cargo run --bin call-ids
//! MODEL=anthropic:claude-sonnet-4-5 ANTHROPIC_API_KEY=.. cargo run --bin call-ids
//! ```

use agent_examples::model;
use tool_agent::{Agent, AgentEventKind, AgentTool, Runner, model::Reply};
use tool_runtime::{
    ToolCall, call::CallAddress, context::Trigger, event::EventKind, policy::Escape, prelude::*,
};

/// Returns the number of inhabitants of a town.
#[tool(read_only)]
async fn inhabitants(town: String, cx: &ToolContext) -> Result<u32, ToolError> {
    // The tool reads from its run which call of the manager it works for.
    let trigger = cx.run().and_then(|run| run.trigger().cloned());
    if let Some(Trigger::Call { id, tool, .. }) = trigger {
        cx.update(format!("for {tool} {id}")).await;
    }
    match town.as_str() {
        "Bergen" => Ok(291_940),
        "Oslo" => Ok(717_710),
        _ => Err(ToolError::not_found(format!("no town `{town}` is known"))),
    }
}

/// The cards of a user interface, one for each call of the manager, in order.
#[derive(Default)]
struct Cards(Vec<CallAddress>);

impl Cards {
    /// Prints a line on the card of a call.
    fn print(&mut self, call: &CallAddress, text: &str) {
        let at = self.0.iter().position(|it| it == call).unwrap_or_else(|| {
            self.0.push(call.clone());
            self.0.len() - 1
        });
        println!(
            "card {}, {}: {}",
            at + 1,
            Escape::LINE.text(&call.call_id.to_string()),
            Escape::LINES.text(text)
        );
    }
}

/// Returns a line about an event of a call.
fn line(event: &EventKind) -> Option<String> {
    match event {
        EventKind::Started { call } => Some(format!("{} {}", call.name, call.arguments.as_str())),
        EventKind::Updated { update, .. } => Some(update.text().into_owned()),
        EventKind::Finished { result } => Some(format!("{}: {}", result.name, result.text())),
        _ => None,
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let look_up = |town: &str| Reply::call("inhabitants", json!({ "town": town }));
    let script =
        [look_up("Oslo"), Reply::text("717,710 people."), look_up("Bergen"), Reply::text("291,940 people.")];
    let researcher = Agent::builder("researcher", model(script)?)
        .description("Looks up facts about towns.")
        .tools(Registry::builder().tool::<inhabitants>().build()?)
        .build()?;

    let ask =
        |town: &str| ToolCall::new("researcher", json!({ "request": format!("How many live in {town}?") }));
    let script = [
        // Both calls have the id `call_1`, as some models number them.
        Reply::calls(["Oslo", "Bergen"].map(|town| ask(town).with_id("call_1"))),
        Reply::text("Oslo is larger."),
    ];
    let manager = Agent::builder("manager", model(script)?)
        .tools(Registry::builder().add(AgentTool::new(researcher)?).build()?)
        .build()?;

    let (mut cards, mut events) =
        (Cards::default(), Runner::new(manager).run("Which is larger, Oslo or Bergen?"));
    while let Some(event) = events.next().await {
        match &event.kind {
            AgentEventKind::Tool { event } => {
                line(&event.kind).iter().for_each(|text| cards.print(&event.address, text));
            }
            AgentEventKind::Child { call, event } => {
                let AgentEventKind::Tool { event: below } = &event.kind else { continue };
                let text = line(&below.kind).map(|text| format!("  {} > {text}", event.agent));
                text.iter().for_each(|text| cards.print(call, text));
            }
            AgentEventKind::Text { delta } => println!("{}", Escape::LINES.text(delta)),
            AgentEventKind::Ended { end } => anyhow::ensure!(end.reason.is_success(), "{end}"),
            _ => {}
        }
    }
    Ok(())
}
