//! ADK-Go: an agent as a tool, before, after and error callbacks, `exit_loop` in a loop of five iterations, memory search, and artifacts in
//! the next request.

use std::time::SystemTime;

use agent_examples::{model, show};
use tool_agent::{Agent, AgentTool, Runner, exit_loop, hook, model::Reply};
use tool_runtime::{ToolCall, hook::Before, policy::Escape, prelude::*};
use tool_session::{
    InMemoryStore, NoteContent, SessionArtifacts, SessionMemory, SharedArtifacts, SharedMemory, UserKey,
    object_store::memory::InMemory,
    tools::{load_artifacts, load_memory, save_artifact},
};

/// Checks the spelling of a text.
#[tool(register = false, read_only)]
fn check_spelling(text: &str) -> Result<&'static str, ToolError> {
    match text.contains("teh") {
        true => Err(ToolError::failed("`teh` is no word")),
        false => Ok("no mistakes"),
    }
}

/// An agent with the memory of the user and the artifacts of the session.
fn writer() -> anyhow::Result<Agent> {
    let script = [
        Reply::calls([
            ToolCall::new("load_memory", json!({ "query": "style" })).with_id("memory"),
            ToolCall::new("save_artifact", json!({ "name": "notes.md", "text": "Picked by hand." }))
                .with_id("saved"),
        ]),
        Reply::call("load_artifacts", json!({ "names": ["notes.md"] })),
        Reply::text("Our tea is picked by teh hand."),
        Reply::text("Our tea is picked by hand."),
    ];
    let tools = Registry::builder()
        .tool::<load_memory>()
        .tool::<save_artifact>()
        .tool::<load_artifacts>()
        .provide_per_run::<SessionMemory>()
        .provide_per_run::<SessionArtifacts>()
        .build()?;
    // The request after `load_artifacts` has the content.
    let print_results = hook::before_model(|step| async move {
        let last = step.request.messages.last();
        for result in last.into_iter().flat_map(|message| message.tool_results()) {
            let texts: Vec<_> =
                result.content().iter().filter_map(|block| block.as_text().map(str::to_owned)).collect();
            println!("  the writer reads: {}", Escape::LINES.text(&texts.join(" / ")));
        }
        Ok(step.into())
    });
    Ok(Agent::builder("writer", model(script)?).tools(tools).hook(print_results).build()?)
}

/// An agent with another one as a tool, and callbacks around its calls.
fn critic() -> anyhow::Result<Agent> {
    let spell = |text: &str| Reply::call("check_spelling", json!({ "text": text }));
    let script = [
        spell("Our tea is picked by teh hand."),
        Reply::text("`teh` is wrong."),
        spell("Our tea is picked by hand."),
        Reply::text("No mistakes."),
    ];
    let checks = Executor::builder(Registry::builder().tool::<check_spelling>().build()?)
        .before(|call| async move {
            println!("  before {}", Escape::LINE.text(call.tool()));
            Ok(Before::Continue)
        })
        .recover(|call, error| async move {
            let (tool, problem) = (Escape::LINE.text(call.tool()), error.feedback().to_string());
            println!("  error of {tool}: {}", Escape::LINES.text(&problem));
            Ok(None)
        })
        .after(|call, result| async move {
            println!("  after {}", Escape::LINE.text(call.tool()));
            Ok(result)
        })
        .build()?;
    let speller =
        Agent::builder("speller", model(script)?).description("Finds mistakes.").tools(checks).build()?;

    let ask = || Reply::call("speller", json!({ "request": "Check the last sentence." }));
    let script = [ask(), Reply::text("Mend `teh`."), ask(), Reply::call("exit_loop", json!({}))];
    let tools = Registry::builder().add(AgentTool::new(speller)?).add(exit_loop()).build()?;
    Ok(Agent::builder("critic", model(script)?).tools(tools).build()?)
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let store = InMemoryStore::new();
    let memory = SharedMemory::new(store.clone());
    let note = NoteContent::new("The style of Ada: short sentences.").with_time(SystemTime::UNIX_EPOCH);
    memory.add(&UserKey::new("studio", "ada")?, &note).await?;
    let artifacts = SharedArtifacts::new(store.clone(), InMemory::new());
    let studio = Agent::repeat("studio", [writer()?, critic()?], 5).build()?;
    let runner = Runner::new(studio)
        .with_app("studio")
        .with_store(store)
        .with_memory(memory)
        .with_artifacts(artifacts);
    let run = RunContext::new().with_user("ada").with_session("s-1");
    let end = show(runner.run_with(run, "Advertise our tea.")).await?;
    println!("{} requests, {} runs below", end.usage.rounds, end.usage.children.runs);
    Ok(())
}
