//! Runs below runs: their usage after a drop or a crash, and their events where a body runs the batch.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use tool_agent::{Answers, hook};
use tool_runtime::{
    Executor,
    policy::{Rule, Rules},
};
use tool_session::{Clock, InMemoryStore, SharedSessionStore};

use super::*;

#[test]
fn a_call_that_is_dropped_counts_all_runs_below_it() {
    /// Never ends.
    #[tool(register = false, read_only)]
    async fn hang() {
        std::future::pending().await
    }
    let child = ScriptedModel::new([Reply::call("hang", json!({})).with_usage(usage())]);
    let tools = Registry::builder().tool::<hang>().build().unwrap();
    let child = Agent::builder("researcher", child).tools(tools).build().unwrap();
    let middle = ScriptedModel::new([ask("c2").with_usage(usage())]);
    let tools = Registry::builder().add(AgentTool::new(child).unwrap()).build().unwrap();
    let middle = Agent::builder("middle", middle).tools(tools).build().unwrap();
    let executor =
        Executor::builder(Registry::builder().add(AgentTool::new(middle).unwrap()).build().unwrap());
    let executor = executor.timeout(std::time::Duration::from_secs(5)).build().unwrap();
    let model =
        ScriptedModel::new([Reply::call("middle", json!({ "request": "Go." })), Reply::text("Done.")]);
    let agent = Agent::builder("manager", model).tools(executor).build().unwrap();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let end = runtime.block_on(Runner::new(agent).run("Go.").end());
    assert_eq!((end.text.as_str(), end.usage.children.runs, end.usage.children.tokens), ("Done.", 2, 100));
}

#[tokio::test]
async fn what_a_child_used_is_stored_with_its_result_and_counts_after_a_crash() {
    let seconds = Arc::new(AtomicU64::new(0));
    let passed = Arc::clone(&seconds);
    let clock = Clock::new(move || SystemTime::now() + Duration::from_secs(passed.load(Ordering::Relaxed)));
    let store = SharedSessionStore::new(InMemoryStore::new().with_clock(clock));
    let run = || RunContext::new().with_user("u").with_session("s");
    let (agent, _) = researcher([found().with_usage(usage()), Reply::text("717,710.").with_usage(usage())]);
    let tool = AgentTool::new(agent.build().unwrap()).unwrap();
    let runner = |tokens: Option<u64>| {
        let limits = Limits { tokens, ..Limits::default() };
        let agent = manager(tool.clone()).0.limits(limits).build().unwrap();
        Runner::new(agent).with_store(store.clone())
    };
    // The process ends before the request after the result.
    let hangs = runner(None).with_hook(hook::before_model(|step| async move {
        match step.request.messages.len() {
            // Q21: the hook reaches the runs below, too.
            _ if step.request.run.depth() > 0 => Ok(hook::BeforeModel::from(step)),
            1 => Ok(hook::BeforeModel::from(step)),
            _ => std::future::pending().await,
        }
    }));
    let mut stream = hangs.run_with(run(), "How large is Oslo?");
    while let Some(event) = stream.next().await {
        if matches!(&event.kind, AgentEventKind::Message { message } if message.tool_results().next().is_some())
        {
            break;
        }
    }
    drop(stream);
    // The lease of that process expires.
    seconds.store(60, Ordering::Relaxed);
    let end = runner(Some(100)).recover(run()).end().await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Tokens, .. }), "{end}");
    assert_eq!((end.usage.children.runs, end.usage.children.tokens), (1, 100));
}

/// Asks the agent in a batch of its own.
#[tool(register = false)]
async fn delegate(cx: &ToolContext, executor: &Executor) -> Result<String, ToolError> {
    let call = ToolCall::new("researcher", json!({ "request": "How many people live in Oslo?" }));
    let batch = executor.batch(vec![call.with_id("inner")]).with_run(cx.child_run("broker")?);
    let outcomes = batch.run().await;
    Ok(outcomes[0].result().map(|it| it.text().into_owned()).unwrap_or_default())
}

#[tokio::test]
async fn the_events_of_an_agent_in_the_batch_of_a_body_are_shown() {
    let (agent, _) = researcher([found(), Reply::text("717,710 people.")]);
    let inner = Registry::builder().add(AgentTool::new(agent.build().unwrap()).unwrap()).build().unwrap();
    let tools = Registry::builder().tool::<delegate>().provide(Executor::new(inner)).build().unwrap();
    let model = ScriptedModel::new([Reply::call("delegate", json!({})), Reply::text("Done.")]);
    let runner = Runner::new(Agent::builder("manager", model).tools(tools).build().unwrap());
    let shown: Vec<_> = events_of(&runner).await.iter().map(shown).collect();
    let below = shown.iter().filter(|it| it.starts_with("inner researcher > ")).count();
    assert_eq!(below, 7, "{shown:?}");
    // They are not held until the batch above ends.
    let end = shown.iter().rposition(|it| it == "tool delegate").unwrap();
    assert_eq!(
        shown[..end].iter().filter(|it| it.starts_with("inner researcher > ")).count(),
        7,
        "{shown:?}"
    );
}

/// Looks up a fact that needs an approval.
#[tool(register = false, name = "look_up", confirm)]
fn look_up_with_approval(what: String) -> String {
    format!("{what}: 717,710")
}

#[tokio::test]
async fn the_events_below_a_call_that_continues_are_between_its_start_and_its_end() {
    let tools = Registry::builder().tool::<look_up_with_approval>().build().unwrap();
    let look_up = Reply::call("look_up", json!({ "what": "Oslo" }));
    let child = ScriptedModel::new([look_up, Reply::text("717,710 people.")]);
    let child = Agent::builder("researcher", child).tools(tools).build().unwrap();
    let tools = Registry::builder().add(AgentTool::new(child).unwrap()).build().unwrap();
    let model = ScriptedModel::new([ask("c1"), Reply::text("Done.")]);
    let runner = Runner::new(Agent::builder("manager", model).tools(tools).build().unwrap());
    let run = || RunContext::new().with_session("s");
    let end = runner.run_with(run(), "How large is Oslo?").end().await;
    let question = end.open[0].address().unwrap();

    let mut events = runner.resume(run(), Answers::new().approve(question));
    let mut kinds = Vec::new();
    while let Some(event) = events.next().await {
        match &event.kind {
            AgentEventKind::Tool { event } => kinds.push(match &event.kind {
                EventKind::Started { .. } => "start",
                EventKind::Finished { .. } => "end",
                _ => continue,
            }),
            AgentEventKind::Child { .. } => kinds.push("below"),
            _ => {}
        }
    }
    kinds.dedup();
    assert_eq!(kinds, ["start", "below", "end"]);
}

#[tokio::test]
async fn the_events_below_a_call_that_was_approved_in_another_run_are_before_its_end() {
    let (child, _) = researcher([found(), Reply::text("717,710 people.")]);
    let tools = Registry::builder().add(AgentTool::new(child.build().unwrap()).unwrap()).build().unwrap();
    let executor =
        Executor::builder(tools).rules(Rules::new([Rule::ask("researcher")])).pending_approvals(true);
    let model = ScriptedModel::new([ask("c1"), Reply::text("Done.")]);
    let runner =
        Runner::new(Agent::builder("manager", model).tools(executor.build().unwrap()).build().unwrap());
    let run = || RunContext::new().with_session("s");
    let end = runner.run_with(run(), "How large is Oslo?").end().await;
    let mut events = runner.resume(run(), Answers::new().approve(end.open[0].address().unwrap()));
    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        all.push(shown(&event));
    }
    let is_below = |it: &&String| it.starts_with("c1 researcher > ");
    let tool_end = all.iter().rposition(|it| it == "tool researcher").unwrap();
    assert_eq!(
        (all[..tool_end].iter().filter(is_below).count(), all.iter().filter(is_below).count()),
        (7, 7),
        "{all:?}"
    );
}
