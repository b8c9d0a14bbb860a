//! Agents in sequence.

use std::time::Duration;

use tool_agent::{EndReason, Limit, Limits, Message, hook};
use tool_runtime::{RunContext, context::Budget};

use super::*;

#[tokio::test]
async fn the_events_of_members_have_their_names_and_no_call_above_them() {
    let team = Agent::sequence("team", [agent("a", [product(), Reply::text("100")]), speaker("b", "Yes.")]);
    let (events, end) = events_of(Runner::new(team.build().unwrap()).run("25 times 4?")).await;
    let shown: Vec<_> = events
        .iter()
        .map(|event| {
            let json = serde_json::to_value(event).unwrap();
            format!("{} {}", event.agent, json["type"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        shown,
        [
            "team message",
            "a message",
            "a tool",
            "a tool",
            "a message",
            "a text",
            "a message",
            "b text",
            "b message",
            "team ended"
        ]
    );
    let runs: std::collections::HashSet<_> = events.iter().map(|event| event.run.clone()).collect();
    assert_eq!((runs.len(), end.text.as_str()), (1, "Yes."));
    let is_of_a = |event: &AgentEvent| match &event.kind {
        AgentEventKind::Tool { event } => event.author.as_deref() == Some("a"),
        _ => true,
    };
    assert!(events.iter().all(is_of_a));
}

#[tokio::test]
async fn a_member_has_its_own_limits_and_the_run_the_usage_of_all() {
    let rounds = |max: u64| Limits { rounds: Some(max), ..Limits::default() };
    let counted = |reply: Reply| reply.with_usage(usage());
    let member = |name: &str, limits: Limits| {
        let (builder, _) = builder(name, [counted(product()), counted(Reply::text(name))]);
        builder.limits(limits).build().unwrap()
    };
    let team = Agent::sequence("team", [member("a", rounds(2)), member("b", rounds(2))]).build().unwrap();
    let (events, end) = events_of(Runner::new(team).run("Go.")).await;
    assert_eq!((end.usage.rounds, end.usage.calls, end.usage.tokens()), (4, 2, 200));
    // The total of an event counts the whole run.
    let totals: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            AgentEventKind::Usage { total, .. } => Some(total.tokens()),
            _ => None,
        })
        .collect();
    assert_eq!(totals, [50, 100, 150, 200]);
    let tokens = Limits { tokens: Some(50), ..Limits::default() };
    let team = Agent::sequence("team", [member("a", rounds(2)), member("b", tokens), speaker("c", "C.")]);
    let end = end_of(team.build().unwrap()).await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Tokens, .. }), "{end}");
    assert_eq!((end.usage.rounds, end.usage.tokens()), (3, 150));
}

#[tokio::test]
async fn the_budget_of_a_run_bounds_all_members() {
    let team = Agent::sequence("team", [speaker("a", "A."), speaker("b", "B."), speaker("c", "C.")]);
    let run = RunContext::new().with_budget(Budget { rounds: Some(2), ..Budget::default() });
    let end = Runner::new(team.build().unwrap()).run_with(run, "Go.").end().await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Budget, .. }), "{end}");
    assert_eq!(end.usage.rounds, 2);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_member_begins_with_its_turn_and_ends_it_alone() {
    let pause = |seconds: u64| {
        hook::before_model(move |step| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(step.into())
        })
    };
    let member = |name: &str, seconds: u64| {
        let limits = Limits { time: Some(Duration::from_secs(3_600)), ..Limits::default() };
        builder(name, [Reply::text(name)]).0.limits(limits).hook(pause(seconds)).build().unwrap()
    };
    // The clock of a deadline is not the one that is paused: no member waits as long as its time.
    let team = Agent::sequence("team", [member("a", 1), member("b", 1)]).build().unwrap();
    assert_eq!(Runner::new(team).run("Go.").answer().await.unwrap(), "b");
    let limits = Limits { time: Some(Duration::ZERO), ..Limits::default() };
    let late = builder("late", [Reply::text("late")]).0.limits(limits).build().unwrap();
    let team = Agent::sequence("team", [member("a", 1), late]).build().unwrap();
    let end = end_of(team).await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Time, .. }), "{end}");
    assert_eq!(end.usage.rounds, 1);
}

#[tokio::test]
async fn state_and_values_pass_from_member_to_member() {
    let noting = Reply::call("note", json!({ "key": "k", "value": "v" }));
    let (reader, model) = builder("reader", [Reply::text("Read.")]);
    let reader = reader.instruction_fn(|run| async move { Ok(format!("k = {}", run.state()["k"])) });
    let writer = agent("writer", [noting, Reply::text("Written.")]);
    let team = Agent::sequence("team", [writer, reader.build().unwrap()]).build().unwrap();
    Runner::new(team).run("Go.").answer().await.unwrap();
    assert_eq!(&*model.requests()[0].instruction, "k = \"v\"");
}

#[tokio::test]
async fn a_follow_up_message_waits_for_the_answers_of_all_members() {
    let (a, a_model) = builder("a", [Reply::text("A1."), Reply::text("A2.")]);
    let (b, b_model) = builder("b", [Reply::text("B1."), Reply::text("B2.")]);
    let team = Agent::sequence("team", [a.build().unwrap(), b.build().unwrap()]).build().unwrap();
    let stream = Runner::new(team).run("Go.");
    stream.handle().follow_up("Again.");
    assert_eq!(stream.answer().await.unwrap(), "B2.");
    assert_eq!((a_model.requests().len(), b_model.requests().len()), (2, 2));
    let texts: Vec<_> = b_model.requests()[1].messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["Go.", "[a] said:\nA1.", "B1.", "Again.", "[a] said:\nA2."]);
}

#[tokio::test]
async fn a_cancelled_run_ends_in_the_turn_of_its_member() {
    let waits = hook::before_model(|_| std::future::pending());
    let (waiting, _) = builder("waiting", [Reply::text("No.")]);
    let members = [speaker("a", "A."), waiting.hook(waits).build().unwrap(), speaker("c", "C.")];
    let mut stream = Runner::new(Agent::sequence("team", members).build().unwrap()).run("Go.");
    let handle = stream.handle();
    while let Some(event) = stream.next().await {
        if &*event.agent == "a" && matches!(event.kind, AgentEventKind::Message { .. }) {
            handle.cancel();
        }
        if let AgentEventKind::Ended { end } = event.kind {
            assert_eq!((end.reason, end.usage.rounds), (EndReason::Cancelled, 2));
        }
    }
}

#[tokio::test]
async fn an_instruction_that_panics_ends_the_run_as_failed() {
    let (broken, _) = builder("broken", [Reply::text("No.")]);
    let broken = broken.instruction_fn(|_| async { panic!("no instruction") }).build().unwrap();
    let end = end_of(Agent::sequence("team", [broken, speaker("next", "Next.")]).build().unwrap()).await;
    assert!(
        matches!(&end.reason, EndReason::Failed { message } if message.contains("no instruction")),
        "{end}"
    );
}
