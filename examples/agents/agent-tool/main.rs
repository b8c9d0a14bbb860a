//! The settings of an agent as a tool, by flags: what the agent below sees, what is shown of it, and what its call returns.
//!
//! ```sh
//! cargo run --bin agent-tool
//! cargo run --bin agent-tool -- --persistent-child-history --child-history-key towns
//! MODEL=anthropic:claude-sonnet-4-5 ANTHROPIC_API_KEY=.. cargo run --bin agent-tool -- --stream-inner --last-text
//! ```
//!
//! | flag | effect |
//! | --- | --- |
//! | `--persistent-child-history` | each call continues the conversation of the call before it |
//! | `--child-history-key KEY` | the conversation has this key; calls with other keys do not see it |
//! | `--child-history-by-town` | the key is the town, the last word of the request |
//! | `--parent-history` | the agent below sees the conversation above |
//! | `--stream-inner` | the text of the agent below is shown while its model writes |
//! | `--hide-inner-text` | the calls of the agent below are shown, and its text is not |
//! | `--last-text` | the result is the last text of the agent below, in place of all texts |
//! | `--skip-summarization` | the result is the answer |

use std::env;

use agent_examples::model;
use tool_agent::{
    Agent, AgentEventKind, AgentTool, HistoryScope, Message, Part, ResponseMode, Role, Runner, hook,
    model::Reply,
};
use tool_runtime::{ToolCall, event::EventKind, policy::Escape, prelude::*};

/// Returns the number of inhabitants of a town.
#[tool(read_only)]
fn inhabitants(town: String) -> Result<u32, ToolError> {
    match town.as_str() {
        "Bergen" => Ok(291_940),
        "Oslo" => Ok(717_710),
        _ => Err(ToolError::not_found(format!("no town `{town}` is known"))),
    }
}

/// Returns the tool as the flags set it.
fn agent_tool(agent: Agent, flags: impl IntoIterator<Item = String>) -> anyhow::Result<AgentTool> {
    let (mut tool, mut key) = (AgentTool::new(agent)?, String::new());
    let mut flags = flags.into_iter();
    while let Some(flag) = flags.next() {
        tool = match flag.as_str() {
            "--persistent-child-history" => tool.history(HistoryScope::Persistent(key.clone())),
            "--child-history-key" => {
                key = flags.next().ok_or_else(|| anyhow::anyhow!("`{flag}` needs a key"))?;
                tool.history(HistoryScope::Persistent(key.clone()))
            }
            "--child-history-by-town" => tool.history_by(|arguments| {
                let request = arguments["request"].as_str().unwrap_or_default();
                request.split_whitespace().last().unwrap_or_default().to_owned()
            }),
            "--parent-history" => tool.history(HistoryScope::ParentBranch),
            "--stream-inner" => tool.stream_text(true),
            "--hide-inner-text" => tool.show_text(false),
            "--last-text" => tool.response_mode(ResponseMode::Last),
            "--skip-summarization" => tool.skip_summarization(true),
            _ => anyhow::bail!("unknown flag `{flag}`"),
        };
    }
    Ok(tool)
}

/// Returns the roles and the texts of a request.
fn outline(messages: &[Message]) -> String {
    let text = |message: &Message| {
        let role = match message.role() {
            Role::User => "user",
            Role::Assistant => "assistant",
            _ => "tool",
        };
        let calls = message.calls().map(|call| format!("{} {}", call.name, call.arguments.as_str()));
        let results = message.tool_results().map(|result| result.text().into_owned());
        let parts: Vec<_> = Some(message.text())
            .into_iter()
            .filter(|it| !it.is_empty())
            .chain(calls)
            .chain(results)
            .collect();
        format!("\n  {role}: {}", Escape::LINE.text(&parts.join(" + ")))
    };
    messages.iter().map(text).collect()
}

/// Prints an event, indented by the number of calls above it.
fn print(event: &AgentEventKind, depth: usize) {
    let indent = "  ".repeat(depth);
    match event {
        AgentEventKind::Child { event, .. } => print(&event.kind, depth + 1),
        AgentEventKind::Text { delta } => println!("{indent}text: {}", Escape::LINE.text(delta)),
        AgentEventKind::Message { message }
            if message.role() == Role::Assistant && !message.text().is_empty() =>
        {
            println!("{indent}message: {}", Escape::LINE.text(&message.text()));
        }
        AgentEventKind::Tool { event } => match &event.kind {
            EventKind::Started { call } => {
                println!("{indent}{} {}", call.name, Escape::LINE.text(call.arguments.as_str()));
            }
            EventKind::Finished { result } => {
                println!("{indent}{}: {}", result.name, Escape::LINE.text(&result.text()));
            }
            _ => {}
        },
        AgentEventKind::Ended { end } if depth == 0 => println!("{}", end.reason),
        _ => {}
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let look_up = |town: &str| {
        let call = ToolCall::new("inhabitants", json!({ "town": town }));
        Reply::parts([Part::Text("I look it up. ".to_owned()), Part::Call(call)])
    };
    let of_oslo = || [look_up("Oslo"), Reply::text("717,710 people.")];
    let of_bergen = [look_up("Bergen"), Reply::text("291,940 people.")];
    let script = [of_oslo(), of_bergen, of_oslo()].concat();
    let researcher = Agent::builder("researcher", model(script)?)
        .description("Looks up facts about towns.")
        .tools(Registry::builder().tool::<inhabitants>().build()?)
        .hook(hook::before_model(|step| {
            // Each request that a question begins, as the researcher sees it.
            if step.number == 1 {
                println!("  the researcher is asked:{}", outline(&step.request.messages));
            }
            async move { Ok(hook::BeforeModel::from(step)) }
        }))
        .build()?;

    let ask =
        |town: &str| Reply::call("researcher", json!({ "request": format!("How many live in {town}?") }));
    let tool = agent_tool(researcher, env::args().skip(1))?;
    let script = match env::args().any(|flag| flag == "--skip-summarization") {
        true => vec![ask("Oslo"), ask("Bergen"), ask("Oslo")],
        false => vec![
            ask("Oslo"),
            Reply::text("717,710."),
            ask("Bergen"),
            Reply::text("291,940."),
            ask("Oslo"),
            Reply::text("Still 717,710."),
        ],
    };
    let manager =
        Agent::builder("manager", model(script)?).tools(Registry::builder().add(tool).build()?).build()?;

    let runner = Runner::new(manager);
    for question in ["How large is Oslo?", "And Bergen?", "And Oslo, once more?"] {
        println!("> {question}");
        let mut events = runner.run_with(RunContext::new().with_session("s-1"), question);
        while let Some(event) = events.next().await {
            print(&event.kind, 0);
        }
    }
    Ok(())
}
