//! Children that try what they were not given, return too much, or never end.

use std::{collections::BTreeSet, future, time::Duration};

use tool_agent::{ChildState, hook};
use tool_runtime::{context::Budget, policy::ResultBudget};

use super::*;

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn erase(log: &Log, path: String) -> String {
    drop(path);
    log.lock().unwrap().push("erased");
    "erased".to_owned()
}

/// Sets a value of the state.
#[tool(register = false)]
fn set(log: &Log, cx: &ToolContext, name: String) -> Result<&'static str, ToolError> {
    log.lock().unwrap().push("set");
    cx.state().set(name, "mine")?;
    Ok("set")
}

/// The calls of a hostile child, whose tools are `set` alone, and those of its run above.
fn hostile_calls() -> Vec<ToolCall> {
    let call = |id: &str, name: &str, arguments: Value| ToolCall::new(name, arguments).with_id(id.to_owned());
    vec![
        // The tool of the run above, with the id of its open call.
        call("c1", "erase", json!({ "path": "a.txt" })),
        call("k2", "manager", json!({ "request": "Erase it." })),
        call("k3", "researcher", json!({ "request": "Go on." })),
        call("k4", "transfer_to_agent", json!({ "agent": "manager" })),
        call("k5", "skill_load", json!({ "name": "admin" })),
        call("k6", "submit_output", json!({ "output": 1 })),
        call("k7", "exit_loop", json!({})),
        call("k8", "set", json!({ "name": "plan" })),
    ]
}

/// Returns the results in the last request of a model.
fn results(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    let messages = &requests.last().unwrap().messages;
    messages.iter().flat_map(tool_agent::Message::tool_results).map(|it| it.text().into_owned()).collect()
}

/// Runs a manager that asks a hostile child in `run`; returns the results that the models of both received last, what took effect, and the end with
/// the state after it.
async fn run_hostile(
    run: RunContext,
    state: ChildState,
) -> ([Vec<String>; 2], Vec<&'static str>, tool_agent::End, Value) {
    let log = Arc::new(Log::default());
    let child_model = ScriptedModel::new([Reply::calls(hostile_calls()), Reply::text("Finished.")]);
    let tools = Registry::builder().tool::<set>().provide_shared(Arc::clone(&log)).build().unwrap();
    // Its own approver approves everything, and it waits for none.
    let tools = Executor::builder(tools).approver_fn(|_| async { Ok(Approval::Approved) }).build().unwrap();
    let child = Agent::builder("researcher", child_model.clone()).tools(tools).build().unwrap();
    let child = AgentTool::new(child).unwrap().state(state);
    let model = ScriptedModel::new([ask("c1"), Reply::text("Done.")]);
    let tools = Registry::builder().add(child).tool::<erase>().provide_shared(Arc::clone(&log));
    let manager = Agent::builder("manager", model.clone()).tools(tools.build().unwrap()).build().unwrap();
    let mut stream = Runner::new(manager).run_with(run, "Go.");
    let mut end = None;
    while let Some(event) = stream.next().await {
        if let AgentEventKind::Ended { end: reached } = event.kind {
            end = Some(reached);
        }
    }
    let effects = log.lock().unwrap().clone();
    let after = json!(*stream.run().state());
    ([results(&child_model), results(&model)], effects, end.unwrap(), after)
}

#[tokio::test]
async fn a_hostile_child_has_no_tool_state_approval_skill_or_budget_beyond_those_that_were_given() {
    let run = || RunContext::new().with_state(json!({ "plan": "ours" }).as_object().cloned().unwrap());
    let shared = || ChildState::Shared(BTreeSet::from(["other".to_owned()]));
    let ([child, above], effects, end, state) = run_hostile(run(), shared()).await;
    for (call, result) in hostile_calls().iter().zip(&child).take(7) {
        assert_eq!(*result, format!("Tool not found: {}", call.name), "{child:?}");
    }
    assert!(above[0].contains("changed the state `plan`, which is not shared with it"), "{above:?}");
    assert_eq!((effects, end.text.as_str(), state), (vec!["set"], "Done.", json!({ "plan": "ours" })));
    // Without a grant, what it changes ends with it.
    let ([_, above], _, end, state) = run_hostile(run(), ChildState::None).await;
    assert_eq!((&*above[0], end.text.as_str(), state), ("Finished.", "Done.", json!({ "plan": "ours" })));
    // Its calls and rounds are those of the budget of the run above.
    let budget = Budget { calls: Some(1), ..Budget::default() };
    let (_, effects, end, _) = run_hostile(run().with_budget(budget), ChildState::None).await;
    assert_eq!(effects, [""; 0], "{end}");
    let budget = Budget { rounds: Some(2), ..Budget::default() };
    let (_, _, end, _) = run_hostile(run().with_budget(budget), ChildState::None).await;
    assert_eq!((end.usage.rounds + end.usage.children.rounds, end.reason.is_success()), (2, false), "{end}");
}

/// The bytes of the texts in an event.
fn event_bytes(event: &AgentEvent) -> usize {
    serde_json::to_string(event).unwrap().len()
}

#[tokio::test]
async fn of_ten_megabytes_that_a_child_returns_the_model_above_receives_the_budget_of_a_result() {
    const TEXT_BYTES: usize = 10 << 20;
    const BUDGET: usize = 16 << 10;
    let text = "0123456789abcde\n".repeat(TEXT_BYTES / 16);
    for (streams, wraps) in [(false, false), (true, false), (false, true)] {
        // Ten thousand parts, if they are events.
        let parts: Vec<_> =
            text.as_bytes().chunks(1024).map(|it| String::from_utf8_lossy(it).into_owned()).collect();
        let (agent, _) = researcher([Reply::text(text.clone()).with_stream(parts)]);
        let tool = AgentTool::new(agent.build().unwrap()).unwrap().stream_text(streams).wrap_result(wraps);
        let model = ScriptedModel::new([ask("c1"), Reply::text("Done.")]);
        let tools = Registry::builder().add(tool).build().unwrap();
        let tools = Executor::builder(tools).budget(ResultBudget::new(BUDGET as u64)).build().unwrap();
        let manager = Agent::builder("manager", model.clone()).tools(tools).build().unwrap();
        let mut stream = Runner::new(manager).run("Go.");
        let (mut bytes, mut answer) = (0, String::new());
        while let Some(event) = stream.next().await {
            bytes += event_bytes(&event);
            if let AgentEventKind::Ended { end } = &event.kind {
                answer.clone_from(&end.text);
            }
        }
        assert_eq!(answer, "Done.");
        let received = &results(&model)[0];
        // And the note about the omitted part.
        assert!(received.len() <= BUDGET + 100 && received.len() > BUDGET / 2, "{}", received.len());
        assert!(received.contains("bytes left out"), "{}", &received[BUDGET / 3..BUDGET / 2]);
        // The text is in the events once as it arrives or as a response, and once in the end of the child: the bytes grow with the text alone.
        assert!(bytes < 3 * TEXT_BYTES, "{bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_that_never_ends_is_stopped_by_its_rounds_by_the_time_of_the_run_above_and_by_its_token() {
    // It calls a tool forever.
    let model = ScriptedModel::new((0..1_000).map(|_| found()));
    let tools = Registry::builder().tool::<look_up>().build().unwrap();
    let limits = Limits { repeated_calls: None, ..Limits::default() };
    let endless = Agent::builder("researcher", model.clone()).tools(tools).limits(limits).build().unwrap();
    let (agent, above) = manager(AgentTool::new(endless).unwrap());
    assert_eq!(Runner::new(agent.build().unwrap()).run("Go.").answer().await.unwrap(), "Done.");
    let rounds = Limits::default().rounds.unwrap();
    assert_eq!(model.requests().len() as u64, rounds);
    assert!(results(&above)[0].contains("agent error: "), "{:?}", results(&above));

    // Its model never answers.
    let silent = || {
        let (agent, _) = researcher([]);
        let never = hook::before_model(|_| future::pending::<Result<_, ToolError>>());
        AgentTool::new(agent.hook(never).build().unwrap()).unwrap()
    };
    let (agent, above) = manager(silent());
    let limits = Limits { time: Some(Duration::from_secs(60)), ..Limits::default() };
    Runner::new(agent.limits(limits).build().unwrap()).run("Go.").end().await;
    assert!(results(&above)[0].to_lowercase().contains("time"), "{:?}", results(&above));
    let (agent, _) = manager(silent());
    let mut stream = Runner::new(agent.build().unwrap()).run("Go.");
    let (handle, mut finished, mut end) = (stream.handle(), 0, None);
    while let Some(event) = stream.next().await {
        match &event.kind {
            AgentEventKind::Child { .. } => handle.cancel(),
            AgentEventKind::Tool { event } => {
                finished += usize::from(matches!(event.kind, EventKind::Finished { .. }))
            }
            AgentEventKind::Ended { end: reached } => end = Some(reached.reason.clone()),
            _ => {}
        }
    }
    assert_eq!((finished, end), (1, Some(EndReason::Cancelled)));
}
