//! Lists that last in a store.

use tool_agent::{Agent, AgentEventKind, AgentTool, Runner, ScriptedModel};
use tool_builtins::todo::TodoEnforcer;
use tool_session::SqliteOptions;

use super::*;

fn run() -> RunContext {
    RunContext::new().with_user("ada").with_session("s-1")
}

/// Opens the file as a new process does, runs a coder with a script, and returns its requests, its answer and the list that its run began
/// with.
async fn answer(
    file: &std::path::Path,
    agent: impl Fn(ScriptedModel) -> Agent,
    script: impl IntoIterator<Item = Reply>,
) -> (ScriptedModel, String, Arc<RunContext>) {
    let store = SqliteOptions::new(file).open().await.unwrap();
    let model = ScriptedModel::new(script);
    let runner = Runner::new(agent(model.clone())).with_app("test").with_store(store);
    let mut stream = runner.run_with(run(), "Go.");
    let mut text = String::new();
    while let Some(event) = stream.next().await {
        if let AgentEventKind::Ended { end } = event.kind {
            text = end.text;
        }
    }
    (model, text, Arc::clone(stream.run()))
}

fn coder(model: ScriptedModel) -> Agent {
    Agent::builder("coder", model).with(TodoEnforcer::new().max_reminders(1)).build().unwrap()
}

#[tokio::test]
async fn a_list_and_its_enforcement_last_beyond_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let script =
        [write(&[("a", "completed"), ("b", "pending")]), Reply::text("Later."), Reply::text("Later.")];
    let (_, text, run) = answer(&file, coder, script).await;
    assert_eq!(text, "Later.");
    let reader = TodoTools::new();
    assert_eq!(reader.of_run(&run).unwrap().unwrap().len(), 2); // S07

    let script =
        [Reply::text("Done."), write(&[("a", "completed"), ("b", "completed")]), Reply::text("Really done.")];
    let (model, text, run) = answer(&file, coder, script).await;
    assert_eq!(text, "Really done.");
    let requests = model.requests();
    assert!(requests[1].messages.last().unwrap().text().contains("\"b\" (pending)")); // S07 S17
    let result = requests[2].messages.last().unwrap().tool_results().next().unwrap().text().into_owned();
    let result: Value = tool_runtime::serde_json::from_str(&result).unwrap();
    assert_eq!(result["oldTodos"], list(&[("a", "completed"), ("b", "pending")])); // S07
    assert_eq!(reader.of_run(&run).unwrap(), Some(Vec::new())); // S10

    // A failed call is no part of the state, and neither is a reminder of the history.
    let script = [write(&[("c", "pending"), ("c", "pending")]), Reply::text("Hm.")];
    let (model, _, run) = answer(&file, coder, script).await;
    assert_eq!(reader.of_run(&run).unwrap(), Some(Vec::new())); // S06 S07
    let is_reminder = |text: &str| text.contains("was not accepted");
    assert!(!model.requests()[0].messages.iter().any(|message| is_reminder(&message.text()))); // S17
}

#[tokio::test]
async fn the_list_of_an_agent_below_lasts_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let manager = |explorer: ScriptedModel| {
        move |model: ScriptedModel| {
            let agent = Agent::builder("explorer", explorer.clone()).with(TodoTools::new()).build().unwrap();
            let tools = Registry::builder().add(AgentTool::new(agent).unwrap()).build().unwrap();
            Agent::builder("coder", model).tools(tools).with(TodoTools::new()).build().unwrap()
        }
    };
    let ask = || [Reply::call("explorer", json!({ "request": "Look." })), Reply::text("Done.")];
    let explorer = ScriptedModel::new([write(&[("look", "pending")]), Reply::text("Looked.")]);
    answer(&file, manager(explorer), ask()).await;

    let explorer = ScriptedModel::new([write(&[("look", "in_progress")]), Reply::text("Looked.")]);
    let (_, _, run) = answer(&file, manager(explorer.clone()), ask()).await;
    let requests = explorer.requests();
    let result = requests[1].messages.last().unwrap().tool_results().next().unwrap().text().into_owned();
    assert!(result.contains("\"oldTodos\":[{\"content\":\"look\""), "{result}"); // S07 S08
    let reader = TodoTools::new();
    assert_eq!(reader.read_values(&run.state(), "coder").unwrap(), None); // S08
    assert_eq!(reader.read_values(&run.state(), "explorer").unwrap().unwrap().len(), 1); // S08
}

#[tokio::test]
async fn a_list_is_kept_if_the_process_ends_right_after_its_write() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let store = SqliteOptions::new(&file).open().await.unwrap();
    let model = ScriptedModel::new([write(&[("a", "pending")]), Reply::text("Never sent.")]);
    let lease = std::time::Duration::from_millis(10);
    let runner = Runner::new(coder(model)).with_app("test").with_store(store).with_lease_duration(lease);
    let mut stream = runner.run_with(run(), "Go.");
    while let Some(event) = stream.next().await {
        if matches!(&event.kind, AgentEventKind::Message { message } if message.tool_results().next().is_some())
        {
            break;
        }
    }
    drop((stream, runner));
    let (model, _, run) = answer(&file, coder, [Reply::text("Hm."), Reply::text("Hm.")]).await;
    assert!(model.requests()[1].messages.last().unwrap().text().contains("\"a\" (pending)")); // S07
    assert_eq!(TodoTools::new().of_run(&run).unwrap().unwrap().len(), 1); // S07
}

// S19
#[tokio::test]
async fn a_blocker_ends_with_its_run_also_in_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let script = [
        write(&[("b", "pending")]),
        Reply::call("todo_declare_blocker", json!({ "reason": "no key" })),
        Reply::text("I need a key."),
    ];
    let (_, text, _) = answer(&file, coder, script).await;
    assert_eq!(text, "I need a key."); // S19
    let (model, _, _) =
        answer(&file, coder, [Reply::text("Still no key."), Reply::text("Still no key.")]).await;
    assert_eq!(model.requests().len(), 2); // S19
}
