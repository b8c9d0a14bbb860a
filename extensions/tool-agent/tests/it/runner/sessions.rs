//! Sessions in memory: their number, and their removal.

use tool_agent::{Agent, Answers, EndReason, Runner, ScriptedModel, model::Reply};
use tool_runtime::{Executor, RunContext, prelude::*};

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(path: String) -> String {
    format!("{path} is removed")
}

fn runner(replies: impl IntoIterator<Item = Reply>) -> Runner {
    let tools = Registry::builder().tool::<remove>().build().unwrap();
    Runner::new(Agent::builder("clerk", ScriptedModel::new(replies)).tools(tools).build().unwrap())
}

fn run(session: &str) -> RunContext {
    RunContext::new().with_session(session)
}

fn hello() -> Reply {
    Reply::text("Hello.")
}

#[tokio::test]
async fn a_new_session_beyond_the_maximum_removes_the_one_that_was_not_used_for_the_longest_time() {
    let runner = runner([(); 12].map(|()| hello())).with_max_sessions(2);
    for session in ["a", "b", "a", "c", "a"] {
        runner.run_with(run(session), "Hi.").answer().await.unwrap();
    }
    let lengths = [runner.history(&run("a")).await.len(), runner.history(&run("b")).await.len()];
    assert_eq!(lengths, [6, 0]);
    assert_eq!((runner.history(&run("c")).await.len(), runner.session_count()), (2, 2));
    // A clone has the same sessions.
    runner.clone().run_with(run("d"), "Hi.").answer().await.unwrap();
    assert_eq!((runner.history(&run("c")).await.len(), runner.session_count()), (0, 2));
}

#[tokio::test]
async fn a_session_that_was_removed_and_is_used_again_counts_by_its_last_use() {
    let runner = runner([(); 4].map(|()| hello())).with_max_sessions(2);
    runner.run_with(run("a"), "Hi.").answer().await.unwrap();
    assert!(runner.remove_session(&run("a")).await);
    for session in ["b", "a", "c"] {
        runner.run_with(run(session), "Hi.").answer().await.unwrap();
    }
    assert_eq!((runner.history(&run("a")).await.len(), runner.history(&run("b")).await.len()), (2, 0));
}

#[tokio::test]
async fn a_session_with_a_run_is_not_removed_by_new_ones() {
    let stuck = tool_agent::hook::before_model(|step| async move {
        if step.request.run.session() == Some("a") {
            std::future::pending::<()>().await;
        }
        Ok(step.into())
    });
    let runner = runner([(); 3].map(|()| hello())).with_hook(stuck).with_max_sessions(1);
    let mut events = runner.run_with(run("a"), "Hi.");
    events.next().await.unwrap();
    runner.run_with(run("b"), "Hi.").answer().await.unwrap();
    assert_eq!(runner.session_count(), 2);
    drop(events);
    runner.run_with(run("c"), "Hi.").answer().await.unwrap();
    assert_eq!((runner.session_count(), runner.history(&run("a")).await.len()), (1, 0));
}

#[tokio::test]
async fn a_new_session_removes_all_that_exceed_the_maximum_and_have_no_run_any_more() {
    let stuck = tool_agent::hook::before_model(|step| async move {
        if step.request.run.session() != Some("last") {
            std::future::pending::<()>().await;
        }
        Ok(step.into())
    });
    let runner = runner([hello(), hello()]).with_hook(stuck).with_max_sessions(2);
    let mut running = Vec::new();
    for session in 0..100 {
        let mut events = runner.run_with(run(&session.to_string()), "Hi.");
        events.next().await.unwrap();
        running.push(events);
    }
    assert_eq!(runner.session_count(), 100);
    // One of them is left, and has no run.
    running.truncate(1);
    assert_eq!(runner.history(&run("50")).await.len(), 1);
    runner.run_with(run("last"), "Hi.").answer().await.unwrap();
    assert_eq!(runner.session_count(), 2);
    drop(running);
    assert_eq!((runner.history(&run("0")).await.len(), runner.history(&run("last")).await.len()), (1, 2));
}

#[tokio::test]
async fn a_run_that_waits_for_its_turn_keeps_its_session_while_the_session_is_removed() {
    use futures_util::{FutureExt as _, poll};

    let (go, wait) = tokio::sync::watch::channel(false);
    let held = tool_agent::hook::before_model(move |step| {
        let mut wait = wait.clone();
        async move {
            drop(wait.wait_for(|go| *go).await);
            Ok(step.into())
        }
    });
    let runner = runner([hello(), hello(), hello()]).with_hook(held);
    let mut first = Box::pin(runner.run_with(run("a"), "Hi.").answer());
    assert!(poll!(&mut first).is_pending());
    let mut removed = Box::pin(async { runner.remove_session(&run("a")).await });
    assert!(poll!(&mut removed).is_pending());
    // A run that begins in between waits too.
    let mut second = Box::pin(runner.run_with(run("a"), "Hi.").answer());
    assert!(poll!(&mut second).is_pending());
    go.send(true).unwrap();
    first.await.unwrap();
    assert!(removed.await);
    second.await.unwrap();
    // It has the session for itself, and a later run continues it.
    assert_eq!(runner.history(&run("a")).await.len(), 2);
    runner.run_with(run("a"), "Hi.").answer().await.unwrap();
    assert_eq!(runner.history(&run("a")).now_or_never().unwrap().len(), 4);
}

#[tokio::test]
async fn open_calls_of_a_removed_session_can_no_longer_be_answered() {
    for is_removed_by_method in [true, false] {
        let call = Reply::call("remove", json!({ "path": "a.txt" }));
        let executor = Executor::new(Registry::builder().tool::<remove>().build().unwrap());
        let model = ScriptedModel::new([call, hello(), hello()]);
        let agent = Agent::builder("clerk", model).tools(executor.clone()).build().unwrap();
        let runner = Runner::new(agent).with_max_sessions(1);
        let end = runner.run_with(run("a"), "Remove it.").end().await;
        assert_eq!(end.reason, EndReason::OpenCalls);
        assert_eq!(executor.open_calls().await.unwrap().len(), 1);
        match is_removed_by_method {
            true => assert!(runner.remove_session(&run("a")).await),
            false => drop(runner.run_with(run("b"), "Hi.").answer().await.unwrap()),
        }
        // The executor does not keep them either.
        assert_eq!(executor.open_calls().await.unwrap().len(), 0, "{is_removed_by_method}");
        let approval = Answers::new().approve(end.open[0].address().unwrap());
        let error = runner.resume(run("a"), approval).answer().await.unwrap_err();
        assert!(matches!(error.end().reason, EndReason::Failed { .. }), "{error}");
        assert!(error.to_string().contains("open call"), "{error}");
    }
    let runner = runner([]);
    assert!(!runner.remove_session(&run("none")).await);
    assert!(!runner.remove_session(&RunContext::new()).await);
}

#[tokio::test]
async fn the_error_of_a_run_with_open_calls_names_them_and_the_next_step() {
    let open = |calls: usize| {
        let calls = (1..=calls).map(|at| {
            tool_runtime::ToolCall::new("remove", json!({ "path": "a.txt" })).with_id(format!("call_{at}"))
        });
        let runner = runner([Reply::calls(calls.collect::<Vec<_>>())]);
        async move { runner.run_with(run("a"), "Remove it.").answer().await.unwrap_err().to_string() }
    };
    assert_eq!(
        open(1).await,
        "calls wait for an answer: `remove` (id `call_1`); answer them with `Runner::resume` in the same session, or give \
         the agent an approver"
    );
    let two = open(2).await;
    assert!(two.contains("answer: `remove` (id `call_1`), `remove` (id `call_2`); answer"), "{two}");
    let five = open(5).await;
    assert!(five.contains("`remove` (id `call_5`); answer"), "{five}");
    let many = open(7).await;
    assert!(many.contains("`remove` (id `call_5`) and 2 more; answer"), "{many}");
    assert!(!many.contains("call_6"), "{many}");
}
