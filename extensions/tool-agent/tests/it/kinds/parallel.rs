//! Agents in parallel.

use std::sync::{Arc, Mutex};

use tokio::sync::Barrier;
use tool_agent::{AgentHook, EndReason, Limit, Limits, hook, model::ModelErrorKind};
use tool_runtime::{RunContext, context::Budget, policy::Approval};

use super::*;

/// A hook that waits until `barrier` is reached by all.
fn meeting(barrier: &Arc<Barrier>) -> impl AgentHook + 'static {
    let barrier = Arc::clone(barrier);
    hook::before_model(move |step| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            Ok(step.into())
        }
    })
}

fn failing(name: &str) -> Agent {
    agent(name, [Reply::error(ModelErrorKind::Other, "no model")])
}

/// An agent whose request never ends, and which notes that it was dropped.
fn waiting(name: &str, dropped: &Arc<Mutex<Vec<String>>>) -> Agent {
    struct Guard(String, Arc<Mutex<Vec<String>>>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0.clone());
        }
    }
    let (name_of_guard, dropped) = (name.to_owned(), Arc::clone(dropped));
    let waits = hook::before_model(move |_| {
        let guard = Guard(name_of_guard.clone(), Arc::clone(&dropped));
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Err(ToolError::failed("never"))
        }
    });
    builder(name, [Reply::text("No.")]).0.hook(waits).build().unwrap()
}

#[tokio::test]
async fn a_hundred_members_work_at_the_same_time() {
    let barrier = Arc::new(Barrier::new(100));
    let member = |at: usize| {
        let (builder, _) =
            builder(&format!("m{at}"), [product(), Reply::text(format!("{at}")).with_usage(usage())]);
        builder.hook(meeting(&barrier)).build().unwrap()
    };
    let panel = Agent::parallel("panel", (0..100).map(member)).build().unwrap();
    let (events, end) = events_of(Runner::new(panel).run("Go.")).await;
    assert_eq!((end.usage.rounds, end.usage.calls, end.usage.tokens()), (200, 100, 5_000));
    let texts: Vec<_> = (0..100).map(|at| format!("m{at}:\n{at}")).collect();
    assert_eq!(end.text, texts.join("\n\n"));
    // The last total counts the whole run, whichever member it is an event of.
    let total = events.iter().rev().find_map(|event| match &event.kind {
        AgentEventKind::Usage { total, .. } => Some(total.tokens()),
        _ => None,
    });
    assert_eq!(total, Some(5_000));
    // Models repeat ids: the runs of the members tell their calls apart.
    let starts: std::collections::HashSet<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            AgentEventKind::Tool { event } => Some(event.address.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(starts.len(), 100);
    assert!(events.iter().all(|event| !matches!(event.kind, AgentEventKind::Child { .. })));
}

#[tokio::test]
async fn a_member_that_fails_does_not_cancel_the_others() {
    let others = [speaker("a", "A."), failing("b"), agent("c", [product(), Reply::text("C.")])];
    let panel = Agent::parallel("panel", others).build().unwrap();
    let team = Agent::sequence("team", [panel, speaker("next", "Next.")]).build().unwrap();
    let runner = Runner::new(team);
    let run = || RunContext::new().with_session("s");
    let (events, end) = events_of(runner.run_with(run(), "Go.")).await;
    assert!(
        matches!(&end.reason, EndReason::ModelFailed { message, .. } if message.contains("no model")),
        "{end}"
    );
    assert_eq!((end.text.as_str(), end.usage.rounds), ("a:\nA.\n\nc:\nC.", 4));
    assert!(notices(&events)[0].starts_with("the agent `b` has no answer: the model failed"));
    let history = runner.history(&run()).await;
    assert_eq!((history.len(), history[1].agent()), (2, Some("panel")));
}

#[tokio::test]
async fn a_member_that_fails_cancels_the_others_if_asked_to() {
    let dropped = Arc::default();
    let members = [waiting("a", &dropped), failing("b"), waiting("c", &dropped)];
    let panel = Agent::parallel("panel", members).cancel_on_failure(true).build().unwrap();
    let run = RunContext::new();
    let token = run.cancellation().clone();
    let end = Runner::new(panel).run_with(run, "Go.").end().await;
    assert!(matches!(end.reason, EndReason::ModelFailed { .. }), "{end}");
    // The first one began before the failure. Without a cancellation, the run would not end.
    assert_eq!((dropped.lock().unwrap().first().map(String::as_str), end.text.as_str()), (Some("a"), ""));
    assert!(!token.is_cancelled());
}

#[tokio::test]
async fn members_end_with_the_token_and_with_the_stream_of_the_run() {
    for is_dropped in [false, true] {
        let dropped = Arc::default();
        let members = [speaker("a", "A."), waiting("b", &dropped), waiting("c", &dropped)];
        let mut stream = Runner::new(Agent::parallel("panel", members).build().unwrap()).run("Go.");
        while let Some(event) = stream.next().await {
            if &*event.agent == "a" && matches!(event.kind, AgentEventKind::Message { .. }) {
                break;
            }
        }
        if is_dropped {
            drop(stream);
        } else {
            stream.handle().cancel();
            let end = stream.end().await;
            assert_eq!((end.reason, end.text.as_str()), (EndReason::Cancelled, "a:\nA."));
        }
        assert_eq!(dropped.lock().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn members_share_the_deadline_and_the_budget_and_have_their_own_limits() {
    let dropped = Arc::default();
    let panel = |members: Vec<Agent>| Runner::new(Agent::parallel("panel", members).build().unwrap());
    let run = RunContext::new().with_deadline(std::time::Instant::now());
    let end = panel(vec![speaker("a", "A."), waiting("b", &dropped)]).run_with(run, "Go.").end().await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Time, .. }), "{end}");

    let run = RunContext::new().with_budget(Budget { rounds: Some(3), ..Budget::default() });
    let two = |name: &str| agent(name, [product(), Reply::text(name)]);
    let end = panel(vec![two("a"), two("b")]).run_with(run, "Go.").end().await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Budget, .. }), "{end}");
    assert_eq!(end.usage.rounds, 3);

    let limits = Limits { rounds: Some(1), ..Limits::default() };
    let limited = builder("b", [product(), Reply::text("B.")]).0.limits(limits).build().unwrap();
    let end = panel(vec![two("a"), limited]).run("Go.").end().await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Rounds, .. }), "{end}");
    assert_eq!((end.text.as_str(), end.usage.rounds), ("a:\na", 3));
}

#[tokio::test]
async fn state_is_merged_in_the_order_of_the_members() {
    // The first member is the last to end.
    let barrier = Arc::new(Barrier::new(2));
    let noting = |value: &str| Reply::call("note", json!({ "key": "k", "value": value }));
    let own = |name: &str| Reply::call("note", json!({ "key": name, "value": "own" }));
    let (a, _) = builder("a", [noting("a"), own("a"), Reply::text("A.")]);
    let (b, b_model) = builder("b", [noting("b"), own("b"), Reply::text("B.")]);
    let b =
        b.instruction_fn(|run| async move { Ok(json!(*run.state()).to_string()) }).hook(meeting(&barrier));
    let members = [a.hook(meeting(&barrier)).build().unwrap(), b.build().unwrap()];
    let stream = Runner::new(Agent::parallel("panel", members).build().unwrap()).run("Go.");
    let run = Arc::clone(stream.run());
    stream.answer().await.unwrap();
    assert_eq!(json!(*run.state()), json!({ "k": "b", "a": "own", "b": "own" }));
    // Until then, a member sees its own changes alone.
    let instructions: Vec<_> =
        b_model.requests().iter().map(|request| request.instruction.to_string()).collect();
    assert_eq!(instructions, ["{}", r#"{"k":"b"}"#, r#"{"k":"b","b":"own"}"#]);
}

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(path: String) -> String {
    format!("{path} is removed")
}

#[tokio::test]
async fn approvals_reach_the_handle_of_the_run_from_each_member_and_other_questions_end_the_run() {
    let tools = || Registry::builder().tool::<remove>().build().unwrap();
    let member = |name: &str, by_handle: bool| {
        let removal = ToolCallOf::id("c1", name);
        let model = ScriptedModel::new([Reply::calls([removal]), Reply::text("Done.")]);
        let agent = Agent::builder(name, model.clone()).tools(tools()).approvals_by_handle(by_handle);
        (agent.build().unwrap(), model)
    };
    let ((a, a_model), (b, b_model), (c, c_model)) =
        (member("a", true), member("b", true), member("c", false));
    let mut stream = Runner::new(Agent::parallel("panel", [a, b, c]).build().unwrap()).run("Go.");
    let (handle, mut asked) = (stream.handle(), Vec::new());
    while let Some(event) = stream.next().await {
        match event.kind {
            AgentEventKind::Tool { event }
                if serde_json::to_value(&event).unwrap()["type"] == "approvalRequested" =>
            {
                let agent = event.author.as_deref().unwrap_or_default();
                let is_of_a = agent == "a";
                let approval = if is_of_a { Approval::Approved } else { Approval::Rejected("no".to_owned()) };
                if agent != "c" {
                    assert!(handle.approve(&event.address, approval));
                }
                asked.push(agent.to_owned());
            }
            AgentEventKind::Ended { end } => {
                assert_eq!(
                    (end.reason, end.open.len(), end.confirmations.len()),
                    (EndReason::OpenCalls, 1, 1)
                );
                assert_eq!(end.text, "a:\nDone.\n\nb:\nDone.");
            }
            _ => {}
        }
    }
    let result = |model: &ScriptedModel| {
        model.requests()[1].messages[2].tool_results().next().unwrap().text().into_owned()
    };
    assert_eq!(result(&a_model), "a is removed");
    assert!(result(&b_model).contains("no"));
    assert_eq!(c_model.requests().len(), 1);
    assert!(["a", "b"].iter().all(|name| asked.iter().any(|asked| asked == name)), "{asked:?}");
}

/// Calls of `remove` with the same id.
struct ToolCallOf;

impl ToolCallOf {
    fn id(id: &str, path: &str) -> tool_runtime::ToolCall {
        tool_runtime::ToolCall::new("remove", json!({ "path": path })).with_id(id.to_owned())
    }
}

#[tokio::test]
async fn a_model_that_panics_costs_its_own_member() {
    let (broken, _) = builder("broken", [Reply::text("No.")]);
    let broken = broken.hook(hook::before_model(|_| async { panic!("broken hook") })).build().unwrap();
    let end = end_of(Agent::parallel("panel", [broken, speaker("a", "A.")]).build().unwrap()).await;
    assert!(matches!(&end.reason, EndReason::Failed { message } if message.contains("broken hook")), "{end}");
    assert_eq!(end.text, "a:\nA.");
}

#[tokio::test]
async fn teams_nest() {
    let inner = |name: &str| {
        let members = (0..3).map(|at| speaker(&format!("{name}{at}"), &format!("{name}{at}")));
        Agent::parallel(name, members).build().unwrap()
    };
    let steps = Agent::sequence("steps", [inner("x"), speaker("y", "Y.")]).build().unwrap();
    let end = end_of(Agent::parallel("all", [steps, inner("z")]).build().unwrap()).await;
    assert_eq!(end.text, "steps:\nY.\n\nz:\nz0:\nz0\n\nz1:\nz1\n\nz2:\nz2");
    assert_eq!(end.usage.rounds, 7);
}

#[tokio::test]
async fn members_of_a_session_in_memory_wait_for_answers_and_those_that_ended_are_not_run_again() {
    let tools = || Registry::builder().tool::<remove>().build().unwrap();
    let asking = |name: &str, text: &str| {
        let model = ScriptedModel::new([Reply::calls([ToolCallOf::id("c1", name)]), Reply::text(text)]);
        Agent::builder(name, model).tools(tools()).build().unwrap()
    };
    let pair = Agent::parallel("pair", [asking("b", "B."), asking("c", "C.")]).build().unwrap();
    let panel = Agent::parallel("panel", [speaker("a", "A."), pair]).build().unwrap();
    let runner = Runner::new(panel);
    let run = || RunContext::new().with_session("s");
    let end = runner.run_with(run(), "Go.").end().await;
    assert_eq!((&end.reason, end.open.len()), (&EndReason::OpenCalls, 2));
    let wrong = runner.resume(run(), tool_agent::Answers::new().approve("c1")).end().await;
    assert!(wrong.to_string().contains("several open calls"), "{wrong}");
    let answers = tool_agent::Answers::new().approve(end.open[1].address().unwrap());
    let end = runner.resume(run(), answers).end().await;
    assert_eq!((&end.reason, end.open.len()), (&EndReason::OpenCalls, 1), "{end}");
    let answers = tool_agent::Answers::new().approve("c1");
    let answer = runner.resume(run(), answers).answer().await.unwrap();
    assert_eq!(answer, "a:\nA.\n\npair:\nb:\nB.\n\nc:\nC.");
    assert_eq!(runner.history(&run()).await.len(), 2);
    let end = runner.resume(run(), tool_agent::Answers::new().approve("c1")).end().await;
    assert!(end.to_string().contains("no open calls"), "{end}");
}

#[tokio::test]
async fn a_team_waits_for_the_answers_of_the_handle_if_a_member_does() {
    let tools = || Registry::builder().tool::<remove>().build().unwrap();
    let asking = |name: &str| {
        let calls = [ToolCallOf::id(&format!("{name}0"), name), ToolCallOf::id(&format!("{name}1"), name)];
        let model = ScriptedModel::new([Reply::calls(calls), Reply::text(name)]);
        Agent::builder(name, model).tools(tools()).wait_for_answers(true).build().unwrap()
    };
    let panel = Agent::parallel("panel", [asking("a"), asking("b")]).build().unwrap();
    let mut stream = Runner::new(panel).run("Go.");
    let (handle, mut asked, mut end) = (stream.handle(), 0, None);
    while let Some(event) = stream.next().await {
        match event.kind {
            AgentEventKind::Open { calls, .. } => {
                asked += 1;
                if asked == 2 {
                    // One for each member, then the others, and one that no member has.
                    handle.answer(tool_agent::Answers::new().approve("a1").approve("b0"));
                    handle.answer(tool_agent::Answers::new().approve("none"));
                    handle.answer(tool_agent::Answers::new().approve("b1").approve("a0"));
                }
                assert!(!calls.is_empty());
            }
            AgentEventKind::Ended { end: reached } => end = Some(reached),
            _ => {}
        }
    }
    let end = end.unwrap();
    assert_eq!((&end.reason, end.text.as_str()), (&EndReason::Answered, "a:\na\n\nb:\nb"), "{end}");
}
