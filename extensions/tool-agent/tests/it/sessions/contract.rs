//! The suite of all stores.

use std::{sync::Arc, time::Duration};

use tool_agent::{
    Agent, AgentEventKind, Answers, Compaction, EndReason, InputDecision, Message, Role, Runner,
    ScriptedModel, hook, model::Reply,
};
use tool_runtime::{RunContext, open_calls::ProgramKey, prelude::*};
use tool_session::{EntryContent, EntryQuery, LeaseRequest, SharedSessionStore};

use super::world::{Gate, StoreFactory, World, agent, key, run, start};

/// Runs the whole suite over the stores of a [`StoreFactory`].
macro_rules! contract_of {
    ($factory:ident) => {
        crate::sessions::contract::contract_tests! { $factory:
            another_process_continues_the_conversation, state_lasts_by_its_scope_and_is_stored_with_the_step,
            a_failed_call_stores_no_state, changes_of_two_sessions_at_once_are_both_kept,
            a_change_that_is_stored_is_not_written_again_over_one_of_another_session,
            no_body_runs_before_its_message_and_its_intent_are_stored, a_session_with_a_run_of_another_process_is_busy,
            a_dropped_run_frees_its_session, a_run_that_lost_its_lease_writes_nothing,
            a_lease_that_expired_is_taken_again_if_nothing_was_written, a_long_session_is_not_read_whole,
            a_compaction_is_where_the_next_run_begins, secret_arguments_are_stored_encrypted_or_not_at_all,
            a_refused_message_is_not_stored, open_calls_are_answered_in_the_session,
            a_call_whose_process_ended_is_answered_as_interrupted, a_removed_session_is_gone_from_the_store,
        }
    };
}

macro_rules! contract_tests {
    ($factory:ident: $($test:ident),+,) => { $(
        #[tokio::test]
        async fn $test() {
            if <$factory as crate::sessions::world::StoreFactory>::is_available() {
                crate::sessions::contract::$test::<$factory>().await;
            }
        }
    )+ };
}

pub(super) use {contract_of, contract_tests};

fn product(a: u32, b: u32) -> Reply {
    Reply::call("multiply", json!({ "a": a, "b": b }))
}

fn remember(values: Value) -> Reply {
    Reply::call("remember", json!({ "values": values }))
}

fn state(values: Value) -> tool_runtime::serde_json::Map<String, Value> {
    values.as_object().cloned().unwrap()
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::text).filter(|text| !text.is_empty()).collect()
}

pub(super) async fn another_process_continues_the_conversation<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (first, _) = world.runner([product(25, 4), Reply::text("100")]);
    first.run_with(run("s").with_id("run-1"), "25 times 4?").answer().await.unwrap();
    let (second, model) = world.runner([Reply::text("200")]);
    let answer = second.run_with(run("s").with_id("run-2"), "And twice that?").answer().await.unwrap();
    assert_eq!(answer, "200");
    let request = &model.requests()[0];
    let roles: Vec<_> = request.messages.iter().map(Message::role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant, Role::User]);
    assert_eq!(request.messages[2].tool_results().next().unwrap().text(), "100.0");
    for runner in [&first, &second] {
        assert_eq!(texts(&runner.history(&run("s")).await), ["25 times 4?", "100", "And twice that?", "200"]);
    }
    let kinds = world.kinds("s").await;
    assert_eq!(kinds, ["message", "message", "message", "message", "end", "message", "message", "end"]);
    // Sessions of other users and apps are others.
    assert_eq!(first.history(&run("s").with_user("u-8")).await.len(), 0); // C08
    assert_eq!(first.history(&run("s").with_app("hall")).await.len(), 0);
    let entries = world.entries("s").await;
    let EntryContent { run, agent, body, .. } = &entries[4].content;
    assert_eq!((run.to_string().as_str(), agent.as_deref()), ("run-1", Some("calculator"))); // C08
    let end: Value = body.read().unwrap();
    assert_eq!(end["reason"], json!({ "reason": "answered" }));
    assert_eq!((&end["usage"]["rounds"], &end["usage"]["calls"]), (&json!(2), &json!(1)));
}

pub(super) async fn state_lasts_by_its_scope_and_is_stored_with_the_step<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let values = json!({ "plan": "pro", "user:language": "fr", "app:rate": 3, "temp:page": 2, "_cursor": 7 });
    let (runner, _) = world.runner([remember(values), Reply::text("Done.")]);
    let caller = state(json!({ "caller": { "x": 1 }, "temp:own": 1 }));
    let events = runner.run_with(run("s").with_state(caller), "Remember.");
    assert!(events.end().await.reason.is_success());
    let expected = json!({
        "caller": { "x": 1 }, "plan": "pro", "_cursor": 7, "user:language": "fr", "app:rate": 3,
    });
    assert_eq!(world.state("s").await, expected); // V01 V05
    // A later run reads it, and its caller's state is applied over it.
    let (runner, _) = world.runner([Reply::text("a"), Reply::text("b"), Reply::text("c")]);
    let later = run("s").with_state(state(json!({ "caller": { "y": 2 }, "plan": null })));
    let events = runner.run_with(later, "Go.");
    let context = Arc::clone(events.run());
    events.end().await;
    let expected = json!({
        "caller": { "x": 1, "y": 2 }, "_cursor": 7, "user:language": "fr", "app:rate": 3,
    });
    assert_eq!(json!(*context.state()), expected); // V01
    assert_eq!(world.state("s").await, expected);
    // Other sessions of the user, and other users.
    let read = async |context: RunContext| {
        let events = runner.run_with(context, "Go.");
        let context = Arc::clone(events.run());
        events.end().await;
        json!(*context.state())
    };
    assert_eq!(read(run("t")).await, json!({ "user:language": "fr", "app:rate": 3 })); // V05
    assert_eq!(read(run("s").with_user("u-8")).await, json!({ "app:rate": 3 })); // V05
}

pub(super) async fn a_failed_call_stores_no_state<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (runner, _) = world.runner([Reply::call("forget", "{}"), Reply::text("Done.")]);
    runner.run_with(run("s"), "Forget.").answer().await.unwrap();
    assert_eq!(world.state("s").await, json!({})); // V04
}

pub(super) async fn changes_of_two_sessions_at_once_are_both_kept<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let gate = Gate::closed();
    let (slow, _) = world.runner([remember(json!({ "user:seen": { "a": 1 } })), Reply::text("Done.")]);
    let slow = slow.with_hook(gate.hook());
    let mut events = slow.run_with(run("s"), "Go.");
    start(&mut events).await;
    let (other, _) = world.runner([remember(json!({ "user:seen": { "b": 2 } })), Reply::text("Done.")]);
    other.run_with(run("t"), "Go.").answer().await.unwrap();
    gate.open();
    events.answer().await.unwrap();
    assert_eq!(world.state("s").await, json!({ "user:seen": { "a": 1, "b": 2 } })); // V03
}

pub(super) async fn a_change_that_is_stored_is_not_written_again_over_one_of_another_session<
    F: StoreFactory,
>() {
    let world = World::new::<F>().await;
    let (gate, reached) = (Gate::closed(), Arc::new(tokio::sync::Notify::new()));
    let notify = Arc::clone(&reached);
    let noting = hook::before_model(move |step| {
        if step.number == 2 {
            notify.notify_one();
        }
        std::future::ready(Ok(step.into()))
    });
    let replies =
        [remember(json!({ "user:seen": 1 })), remember(json!({ "plan": "pro" })), Reply::text("Done.")];
    let (slow, _) = world.runner(replies);
    let slow = slow.with_hook(noting).with_hook(gate.hook_from(2));
    let mut events = slow.run_with(run("s"), "Go.");
    loop {
        tokio::select! {
            () = reached.notified() => break,
            event = events.next() => assert!(event.is_some(), "the run ended"),
        }
    }
    let (other, _) = world.runner([remember(json!({ "user:seen": 2 })), Reply::text("Done.")]);
    other.run_with(run("t"), "Go.").answer().await.unwrap();
    gate.open();
    events.answer().await.unwrap();
    assert_eq!(world.state("s").await, json!({ "plan": "pro", "user:seen": 2 })); // V03
}

/// Returns the last two entries.
#[tool(register = false)]
async fn last_entries(store: &SharedSessionStore) -> String {
    let page = store.entries(&key("s"), &EntryQuery::backward().limit(2)).await.unwrap();
    let texts = page.entries.iter().map(|it| format!("{}: {}", it.content.kind, it.content.body.as_str()));
    texts.collect::<Vec<_>>().join("\n")
}

pub(super) async fn no_body_runs_before_its_message_and_its_intent_are_stored<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let model = ScriptedModel::new([Reply::call("last_entries", "{}"), Reply::text("Done.")]);
    let tools = Registry::builder().tool::<last_entries>().provide(world.store.clone()).build().unwrap();
    let runner = world.runner_of(Agent::builder("clerk", model.clone()).tools(tools));
    runner.run_with(run("s"), "Look.").answer().await.unwrap();
    let result = model.requests()[1].messages[2].tool_results().next().unwrap().text().into_owned();
    let (intent, message) = result.split_once('\n').unwrap();
    assert!(intent.starts_with("call-intent: ") && intent.contains("last_entries"), "{intent}");
    assert!(message.starts_with("message: ") && message.contains("assistant"), "{message}");
}

pub(super) async fn a_session_with_a_run_of_another_process_is_busy<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let gate = Gate::closed();
    let (first, _) = world.runner([Reply::text("a"), Reply::text("b")]);
    let first = first.with_hook(gate.hook()).when_busy(Duration::ZERO);
    let mut events = first.run_with(run("s").with_id("run-1"), "Go.");
    start(&mut events).await;
    let busy = EndReason::Busy { run: "run-1".into() };
    // In another process, and in this one.
    let (other, _) = world.runner([Reply::text("c")]);
    let end = other.clone().when_busy(Duration::ZERO).run_with(run("s"), "Go.").end().await;
    assert_eq!(end.reason, busy);
    assert_eq!(first.run_with(run("s"), "Go.").end().await.reason, busy);
    assert_eq!(world.kinds("s").await, ["message"]);
    // A child of the run does not wait for it.
    for runner in [first.clone(), other.clone()].map(|it| it.when_busy(Duration::from_secs(600))) {
        let child = events.run().child("researcher"); // C09
        assert_eq!(runner.run_with(child, "Go.").end().await.reason, busy);
    }
    // A run that waits gets its turn.
    let waiting = other.run_with(run("s"), "Then.").answer();
    let opening = async {
        gate.open();
        events.answer().await.unwrap()
    };
    let (answer, first_answer) = tokio::join!(waiting, opening);
    assert_eq!((answer.unwrap().as_str(), first_answer.as_str()), ("c", "a"));
}

pub(super) async fn a_dropped_run_frees_its_session<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let gate = Gate::closed();
    let (runner, _) = world.runner([Reply::text("a"), Reply::text("b")]);
    let runner = runner.when_busy(Duration::ZERO);
    let drop_run = async |session: &str| {
        let mut events = runner.clone().with_hook(gate.hook()).run_with(run(session), "Go.");
        start(&mut events).await;
        drop(events);
    };
    let (other, _) = world.runner([Reply::text("c")]);
    let other = other.when_busy(Duration::ZERO);
    drop_run("s").await;
    // For other processes it is free after the next run of this one.
    let reason = other.run_with(run("s"), "Go.").end().await.reason;
    assert!(matches!(reason, EndReason::Busy { .. }), "{reason}");
    runner.run_with(run("t"), "Go.").answer().await.unwrap();
    assert_eq!(other.run_with(run("s"), "Go.").answer().await.unwrap(), "c");
    // For this process it is free at once.
    drop_run("u").await;
    assert_eq!(runner.run_with(run("u"), "Go.").answer().await.unwrap(), "b");
    assert_eq!(world.kinds("u").await, ["message", "message", "message", "end"]);
}

pub(super) async fn a_run_that_lost_its_lease_writes_nothing<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let gate = Gate::closed();
    let (stopped, _) = world.runner([remember(json!({ "lost": 1 })), Reply::text("lost")]);
    let mut events = stopped.with_hook(gate.hook()).run_with(run("s"), "Go.");
    start(&mut events).await;
    world.pass(31);
    let (other, model) = world.runner([Reply::text("b")]);
    other.run_with(run("s").with_id("run-2"), "Again.").answer().await.unwrap();
    assert_eq!(texts(&model.requests()[0].messages), ["Go.", "Again."]);
    let before = world.entries("s").await;
    gate.open();
    let mut calls = 0;
    let end = loop {
        match events.next().await.unwrap().kind {
            AgentEventKind::Ended { end } => break end,
            AgentEventKind::Tool { .. } => calls += 1,
            _ => {}
        }
    };
    assert_eq!(end.reason, EndReason::Superseded { run: "run-2".into() });
    assert_eq!((calls, world.entries("s").await), (0, before));
    assert_eq!(world.state("s").await, json!({}));
}

pub(super) async fn a_lease_that_expired_is_taken_again_if_nothing_was_written<F: StoreFactory>() {
    let world = World::new::<F>().await;
    for holds_lease in [false, true] {
        let session = if holds_lease { "held" } else { "released" };
        let gate = Gate::closed();
        let (runner, _) = world.runner([Reply::text("a")]);
        let mut events = runner.with_hook(gate.hook()).run_with(run(session), "Go.");
        start(&mut events).await;
        world.pass(31);
        let request = LeaseRequest::new("run-2", "other process");
        let grant = world.store.acquire(&key(session), &request).await.unwrap();
        if !holds_lease {
            world.store.release(&grant.lease).await.unwrap();
        }
        gate.open();
        let end = events.end().await;
        match holds_lease {
            false => assert_eq!(end.reason, EndReason::Answered),
            true => assert_eq!(end.reason, EndReason::Superseded { run: "run-2".into() }),
        }
    }
}

pub(super) async fn a_long_session_is_not_read_whole<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (runner, _) = world.runner((0..40).map(|at| Reply::text(format!("{at} {}", "word ".repeat(80)))));
    for at in 0..40 {
        runner.run_with(run("s"), format!("{at}?")).answer().await.unwrap();
    }
    let (agent, model) = agent([Reply::text("Done.")]);
    let later = world.runner_of(agent.context_window(1_000));
    let mut events = later.run_with(run("s"), "Then?");
    let mut notices = Vec::new();
    while let Some(event) = events.next().await {
        if let AgentEventKind::Notice { text } = event.kind {
            notices.push(text);
        }
    }
    let messages = &model.requests()[0].messages;
    assert!((10..30).contains(&messages.len()), "{}", messages.len());
    assert!(messages[0].text().contains("left out"), "{messages:?}");
    assert!(texts(messages)[messages.len() - 2].starts_with("39 "), "{messages:?}");
    assert!(
        notices.iter().any(|it| it.contains("earlier messages of the session are left out")),
        "{notices:?}"
    );
    assert_eq!(later.history(&run("s")).await.len(), 82);
}

pub(super) async fn a_compaction_is_where_the_next_run_begins<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let compaction = Compaction::by(|whole| async move {
        let mut messages = whole.messages;
        let last = messages.pop();
        Ok([Message::user("Summary.")].into_iter().chain(last).collect())
    });
    let (first, _) = agent([Reply::text("word ".repeat(1_000)), Reply::text("b")]);
    let first = world.runner_of(first.context_window(1_000).compaction(compaction));
    first.run_with(run("s"), "One?").answer().await.unwrap();
    first.run_with(run("s"), "Two?").answer().await.unwrap();
    assert!(world.kinds("s").await.contains(&"compaction".to_owned()));
    let (second, model) = world.runner([Reply::text("c")]);
    second.run_with(run("s"), "Three?").answer().await.unwrap();
    assert_eq!(texts(&model.requests()[0].messages), ["Summary.", "Two?", "b", "Three?"]);
    // The history is whole, and the summary is no part of it.
    let history = texts(&second.history(&run("s")).await);
    assert_eq!((history.len(), history[0].as_str(), history[2].as_str()), (6, "One?", "Two?"));
}

pub(super) async fn secret_arguments_are_stored_encrypted_or_not_at_all<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let replies = || {
        let call = Reply::call("sign_in", json!({ "user": "ada", "password": "hunter2" }));
        [call, Reply::text("Done.")]
    };
    let outlives_process = world.store.outlives_process();
    let (runner, model) = world.runner(replies());
    let end = runner.run_with(run("plain"), "Sign in.").end().await;
    match outlives_process {
        true => {
            let EndReason::StoreFailed { message } = end.reason else { panic!("{}", end.reason) };
            assert!(message.contains("Runner::with_program_key"), "{message}");
            // The call did not run.
            assert_eq!((model.requests().len(), world.kinds("plain").await.len()), (1, 1));
        }
        false => assert_eq!(end.reason, EndReason::Answered),
    }
    let sealed = |bytes: u8| {
        let (runner, model) = world.runner(replies());
        (runner.with_program_key(ProgramKey::new([bytes; 32])), model)
    };
    sealed(1).0.run_with(run("s"), "Sign in.").answer().await.unwrap();
    let bodies: String = world.entries("s").await.iter().map(|it| it.content.body.to_string()).collect();
    assert_eq!(bodies.contains("hunter2"), !outlives_process);
    let (again, model) = sealed(1);
    again.run_with(run("s"), "Again.").answer().await.unwrap();
    assert!(
        format!("{:?}", model.requests()[0].messages[1].calls().next().unwrap().arguments)
            .contains("hunter2")
    );
    let reason = sealed(2).0.run_with(run("s"), "Again.").end().await.reason;
    assert_eq!(matches!(reason, EndReason::StoreFailed { .. }), outlives_process, "{reason}");
}

pub(super) async fn a_refused_message_is_not_stored<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (builder, _) = agent([Reply::text("a"), Reply::text("b")]);
    let runner = world.runner_of(builder.input_check(|_, message| async move {
        Ok(match message.text().as_str() {
            "no" => InputDecision::Refuse("rude".to_owned()),
            _ => InputDecision::Accept,
        })
    }));
    let end = runner.run_with(run("s"), "no").end().await;
    assert!(matches!(end.reason, EndReason::Refused { .. }), "{}", end.reason);
    assert_eq!(world.kinds("s").await, ["end"]);
    runner.run_with(run("s"), "yes").answer().await.unwrap();
    let history = texts(&runner.history(&run("s")).await);
    assert_eq!((history.len(), history[0].as_str()), (2, "yes"));
}

fn removal() -> Reply {
    Reply::call("remove", json!({ "path": "a.txt" }))
}

pub(super) async fn open_calls_are_answered_in_the_session<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (runner, model) = world.runner([removal(), Reply::text("Done.")]);
    let end = runner.run_with(run("s"), "Remove it.").end().await;
    assert_eq!(end.reason, EndReason::OpenCalls); // I15
    let approval = Answers::new().approve(end.open[0].address().unwrap());
    assert_eq!(runner.resume(run("s"), approval).answer().await.unwrap(), "Done."); // I17
    let results: Vec<_> =
        model.requests()[1].messages[2].tool_results().map(|it| it.text().into_owned()).collect();
    assert_eq!(results, ["a.txt is removed"]);
    let kinds = world.kinds("s").await;
    let opened = ["message", "message", "call-outcome", "open-batch", "end"];
    assert_eq!(kinds, [&opened[..], &["call-outcome", "message", "message", "end"]].concat());
}

pub(super) async fn a_call_whose_process_ended_is_answered_as_interrupted<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (runner, _) = world.runner([removal(), Reply::text("Done.")]);
    let end = runner.run_with(run("s"), "Remove it.").end().await;
    let (other, model) = world.runner([Reply::text("Then not.")]);
    other.run_with(run("s"), "Never mind.").answer().await.unwrap();
    let messages = &model.requests()[0].messages;
    assert!(messages[2].tool_results().next().unwrap().text().contains("interrupted"), "{messages:?}");
    // The first process no longer runs the call.
    let approval = Answers::new().approve(end.open[0].address().unwrap());
    let reason = runner.resume(run("s"), approval).end().await.reason;
    assert!(matches!(reason, EndReason::Failed { .. }), "{reason}");
}

pub(super) async fn a_removed_session_is_gone_from_the_store<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (runner, _) = world.runner([Reply::text("a")]);
    runner.run_with(run("s"), "Go.").answer().await.unwrap();
    let (other, _): (Runner, _) = world.runner([]);
    assert!(other.remove_session(&run("s")).await);
    assert!(!other.remove_session(&run("s")).await);
    assert_eq!(runner.history(&run("s")).await.len(), 0);
    assert_eq!(world.store.load(&key("s")).await.unwrap(), None);
}
