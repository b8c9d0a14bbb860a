//! A writer and a critic in a loop: the critic ends it by the tool `exit_loop`, and a publisher follows.
//!
//! ```sh
//! cargo run --bin loop
//! MODEL=anthropic:claude-sonnet-4-5 ANTHROPIC_API_KEY=.. cargo run --bin loop
//! ```

use agent_examples::{model, show_call};
use tool_agent::{Agent, AgentEventKind, Role, Runner, exit_loop, model::Reply};
use tool_runtime::{policy::Escape, prelude::*};

/// Returns the number of words of a text.
#[tool(read_only)]
fn count_words(text: String) -> usize {
    text.split_whitespace().count()
}

fn writer() -> anyhow::Result<Agent> {
    let script = [
        Reply::text("Our tea is picked by hand, dried in the sun, and blended with great care by experts."),
        Reply::text("Tea, picked by hand and dried in the sun."),
    ];
    let writer = Agent::builder("writer", model(script)?);
    Ok(writer.instruction("Write one sentence of advertising. Answer with the sentence alone.").build()?)
}

fn critic() -> anyhow::Result<Agent> {
    let count = |text: &str| Reply::call("count_words", json!({ "text": text }));
    let script = [
        count("Our tea is picked by hand, dried in the sun, and blended with great care by experts."),
        Reply::text("17 words. At most 10, please."),
        count("Tea, picked by hand and dried in the sun."),
        Reply::call("exit_loop", json!({})),
    ];
    let instruction = "Count the words of the last sentence of the writer. If it has more than 10, say so. \
        Otherwise call `exit_loop`, and write nothing.";
    let tools = Registry::builder().tool::<count_words>().add(exit_loop()).build()?;
    Ok(Agent::builder("critic", model(script)?).instruction(instruction).tools(tools).build()?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let review = Agent::repeat("review", [writer()?, critic()?], 5).build()?;
    let script = [Reply::text("TEA, PICKED BY HAND AND DRIED IN THE SUN.")];
    let publisher = Agent::builder("publisher", model(script)?);
    let publisher = publisher.instruction("Print the last sentence of the writer in capitals.").build()?;
    let studio = Agent::sequence("studio", [review, publisher]).build()?;

    let mut events = Runner::new(studio).run("Advertise our tea.");
    while let Some(event) = events.next().await {
        let agent = Escape::LINE.text(&event.agent);
        match &event.kind {
            AgentEventKind::Message { message } if message.role() == Role::Assistant => {
                let text = message.text();
                if !text.is_empty() {
                    println!("{agent}: {}", Escape::LINES.text(&text));
                }
            }
            AgentEventKind::Tool { event } => show_call(&event.kind),
            AgentEventKind::Ended { end } => {
                anyhow::ensure!(end.reason.is_success(), "{end}");
                println!("{} requests to models", end.usage.rounds);
            }
            _ => {}
        }
    }
    Ok(())
}
