//! The loop of a run on scripted models.

mod approvals;

mod cancel;
mod compaction;
mod ends;
mod events;
mod hook_requests;
mod hooks;
mod notices;
pub(crate) mod open;
mod parts;
mod sessions;
mod tools;
mod waits;

use std::time::{Duration, Instant};

use tool_agent::{Agent, EndReason, Limit, Limits, Runner, ScriptedModel, model::Reply};
use tool_runtime::{RunContext, prelude::*};

/// Multiplies two numbers.
#[tool(read_only)]
fn multiply(a: f64, b: f64) -> f64 {
    a * b
}

fn agent(replies: impl IntoIterator<Item = Reply>) -> (tool_agent::AgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new(replies);
    let tools = Registry::builder().tool::<multiply>().build().unwrap();
    (Agent::builder("calculator", model.clone()).tools(tools), model)
}

fn product() -> Reply {
    Reply::call("multiply", json!({ "a": 25, "b": 4 }))
}

#[tokio::test]
async fn a_run_asks_until_the_model_makes_no_calls() {
    let (agent, model) = agent([product(), product(), Reply::text("100")]);
    let answer = Runner::new(agent.build().unwrap()).run("25 times 4?").answer().await.unwrap();
    assert_eq!(answer, "100");
    assert_eq!(model.requests().len(), 3); // G12
    let last = &model.requests()[2];
    assert_eq!(last.messages.len(), 5);
    assert_eq!(last.messages[2].tool_results().next().unwrap().text(), "100.0");
}

#[tokio::test]
async fn a_limit_of_rounds_ends_the_run_visibly() {
    let (agent, model) = agent([product(), product(), Reply::text("100")]);
    let limits = Limits { rounds: Some(1), ..Limits::default() };
    let end = Runner::new(agent.limits(limits).build().unwrap()).run("25 times 4?").end().await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Rounds, .. })); // G12
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn the_last_event_is_the_end() {
    let (agent, _) = agent([product(), Reply::text("100")]);
    let mut events = Runner::new(agent.build().unwrap()).run("25 times 4?");
    let mut kinds = Vec::new();
    while let Some(event) = events.next().await {
        let event = serde_json::to_value(&event).unwrap();
        kinds.push(event["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds, ["message", "message", "tool", "tool", "message", "text", "message", "ended"]);
}

#[tokio::test]
async fn sessions_of_other_users_and_programs_are_separate() {
    let (builder, _) = agent((0..4).map(|_| Reply::text("Hello.")));
    let runner = Runner::new(builder.build().unwrap()).with_app("shop");
    let run = || RunContext::new().with_session("s");
    let others = || [run(), run().with_user("u-7"), run().with_app("hall"), run().with_session("t")];
    for run in others() {
        runner.run_with(run, "Hello.").answer().await.unwrap();
    }
    for run in others() {
        assert_eq!(runner.history(&run).await.len(), 2); // C08
    }
}

#[tokio::test]
async fn the_earlier_deadline_counts() {
    let limited = |time| {
        let (builder, _) = agent([Reply::text("100")]);
        let limits = Limits { time: Some(Duration::from_secs(time)), ..Limits::default() };
        Runner::new(builder.limits(limits).build().unwrap())
    };
    let own = Instant::now() + Duration::from_secs(60);
    let deadline = |runner: Runner, run: RunContext| runner.run_with(run, "25 times 4?").run().deadline();
    assert_eq!(deadline(limited(3_600), RunContext::new().with_deadline(own)), Some(own));
    assert!(deadline(limited(1), RunContext::new().with_deadline(own)).unwrap() < own);
    assert!(deadline(limited(1), RunContext::new()).unwrap() < own);
}
