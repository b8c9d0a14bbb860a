//! Actions, child runs, and questions of bodies, in sessions of a store.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tool_agent::{Agent, AgentEventKind, Answers, End, EndReason, Runner, ScriptedModel, model::Reply};
use tool_runtime::{
    State, ToolCall, ToolContext,
    event::EventKind,
    output::Actions,
    policy::{ApprovalRequest, confirmation_answer},
    prelude::*,
    serde_json,
};
use tool_session::EntryContent;

use super::{
    open_calls::tests,
    world::{Gate, StoreFactory, World, key, run, start},
};

/// The number of times that a body began.
type Begun = Arc<AtomicU32>;

/// Transfers money, after a question about the account.
#[tool(register = false)]
fn transfer(begun: &AtomicU32, amount: u32, cx: &ToolContext) -> Result<String, ToolError> {
    begun.fetch_add(1, Ordering::SeqCst);
    let Some(answer) = cx.confirmation() else {
        return Err(cx.request_confirmation("Is this the right account?", json!({ "amount": amount })));
    };
    Ok(if answer.confirmed { format!("sent {amount}, {}", answer.payload) } else { "not sent".to_owned() })
}

/// Ends the run, and stores a value.
#[tool(register = false)]
fn finish(state: &State, cx: &ToolContext) -> Result<&'static str, ToolError> {
    state.set("finished", true)?;
    let mut actions = Actions::default();
    (actions.terminate, actions.transfer) = (true, Some("billing".to_owned()));
    cx.add_actions(actions)?;
    Ok("finished")
}

/// Stores a value.
#[tool(register = false)]
fn keep(state: &State, value: u32) -> Result<&'static str, ToolError> {
    state.set("kept", value)?;
    Ok("kept")
}

/// Returns the runner of another process, whose open calls are in the database.
fn runner_of(
    world: &World,
    begun: &Begun,
    replies: impl IntoIterator<Item = Reply>,
) -> (Runner, ScriptedModel) {
    let tools = Registry::builder().tool::<transfer>().tool::<finish>().tool::<keep>();
    let tools = tools.provide_shared(Arc::clone(begun)).build().unwrap();
    let model = ScriptedModel::new(replies);
    let executor = world.executor(tools).build().unwrap();
    (world.runner_of(Agent::builder("clerk", model.clone()).tools(executor)), model)
}

fn transfer_of(amount: u32) -> Reply {
    Reply::call("transfer", json!({ "amount": amount }))
}

/// Asks in one process for a transfer; returns the end of its run.
async fn ask(world: &World, begun: &Begun, session: &str) -> End {
    let (first, _) = runner_of(world, begun, [transfer_of(7)]);
    let end = first.run_with(run(session), "Transfer 7.").end().await;
    assert_eq!(end.reason, EndReason::OpenCalls);
    end
}

fn request(end: &End) -> ApprovalRequest {
    let confirmation: serde_json::Value = serde_json::to_value(&end.open[0]).unwrap();
    serde_json::from_value(confirmation["operation"]["confirmation"].clone()).unwrap()
}

async fn a_question_of_a_body_is_answered_in_another_process<F: StoreFactory>() {
    let world = World::new::<F>().await;
    for (session, answer, expected) in [
        ("yes", json!({ "confirmed": true, "payload": "now" }), r#"sent 7, "now""#),
        ("no", json!({ "confirmed": false }), "not sent"),
    ] {
        let begun = Begun::default();
        let end = ask(&world, &begun, session).await;
        assert_eq!(begun.load(Ordering::SeqCst), 1);
        let (second, model) = runner_of(&world, &begun, [Reply::text("Done.")]);
        let answer = confirmation_answer(&answer).unwrap();
        let answers = Answers::new().decide(end.open[0].address().unwrap(), answer);
        assert_eq!(second.resume(run(session), answers).answer().await.unwrap(), "Done.");
        let results: Vec<_> =
            model.requests()[0].messages[2].tool_results().map(|it| it.text().into_owned()).collect();
        // The second time, the body reads the answer.
        assert_eq!((results, begun.load(Ordering::SeqCst)), (vec![expected.to_owned()], 2)); // I21
    }
}

async fn an_answer_of_a_front_end_is_an_object_or_its_text<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let plain = json!({ "confirmed": true, "payload": 5 });
    let text = json!({ "response": plain.to_string() });
    for (session, form) in [("object", &plain), ("text", &text)] {
        let begun = Begun::default();
        let end = ask(&world, &begun, session).await;
        let (second, model) = runner_of(&world, &begun, [Reply::text("Done.")]);
        for wrong in [json!({ "response": "yes" }), json!({ "response": 5 }), json!("yes")] {
            assert!(confirmation_answer(&wrong).is_err(), "{wrong}"); // I18
        }
        let answer = confirmation_answer(form).unwrap();
        let answers = Answers::new().decide(&request(&end), answer);
        assert_eq!(second.resume(run(session), answers).answer().await.unwrap(), "Done.");
        let result = model.requests()[0].messages[2].tool_results().next().unwrap().text().into_owned();
        assert_eq!(result, "sent 7, 5"); // I18
    }
}

async fn the_original_call_is_read_from_the_confirmation_of_a_stored_batch<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let end = ask(&world, &Begun::default(), "s").await;
    let original = ApprovalRequest::original_call(&end.confirmations[0]).unwrap();
    assert_eq!((original.name.as_str(), original.arguments.as_str()), ("transfer", r#"{"amount":7}"#)); // I22
    assert_eq!(Some(&original.id), end.open[0].address().map(|address| &address.call_id));
    // Another process makes the same confirmation call of the stored batch; a front end reads it as JSON.
    let (second, _) = runner_of(&world, &Begun::default(), []);
    let later = second.resume(run("s"), Answers::new()).end().await;
    assert_eq!((later.reason, &later.confirmations), (EndReason::OpenCalls, &end.confirmations));
    let raw = serde_json::to_string(&later.confirmations[0]).unwrap();
    let raw: ToolCall = serde_json::from_str(&raw).unwrap();
    assert_eq!(ApprovalRequest::original_call(&raw).unwrap(), original); // I22
    let mut arguments: Value = serde_json::from_str(raw.arguments.as_str()).unwrap();
    arguments.as_object_mut().unwrap().remove("originalFunctionCall");
    let without = ToolCall::new("request_confirmation", arguments);
    assert!(ApprovalRequest::original_call(&without).is_err()); // I22
}

async fn each_call_of_a_stored_batch_has_its_own_actions<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let calls = [
        ToolCall::new("finish", "{}").with_id("f"),
        ToolCall::new("keep", json!({ "value": 3 })).with_id("k"),
    ];
    let (runner, model) = runner_of(&world, &Begun::default(), [Reply::calls(calls), Reply::text("Done.")]);
    let mut events = runner.run_with(run("s"), "Go.");
    let mut actions = Vec::new();
    while let Some(event) = events.next().await {
        let AgentEventKind::Tool { event } = event.kind else { continue };
        if let EventKind::Finished { result } = &event.kind {
            actions.push((result.id.to_string(), result.actions().cloned().unwrap_or_default()));
        }
    }
    actions.sort_by(|one, other| one.0.cmp(&other.0));
    let [(_, finish), (_, keep)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!((finish.terminate, finish.transfer.as_deref()), (true, Some("billing"))); // V02
    assert_eq!((keep.terminate, keep.transfer.as_deref()), (false, None)); // V02
    assert_eq!((json!(finish.state), json!(keep.state)), (json!({ "finished": true }), json!({ "kept": 3 }))); // V02
    // One call of two asked to end the run: it goes on.
    assert_eq!(model.requests().len(), 2);
    assert_eq!(world.state("s").await, json!({ "finished": true, "kept": 3 })); // V02
}

async fn a_child_run_in_a_session_of_its_own_changes_nothing_of_its_parent<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (gate, begun) = (Gate::closed(), Begun::default());
    let (runner, _) = runner_of(&world, &begun, [Reply::text("a")]);
    let state = json!({ "kept": 1 }).as_object().cloned().unwrap();
    let mut events = runner.with_hook(gate.hook()).run_with(run("s").with_state(state), "Go.");
    start(&mut events).await;
    let parent = Arc::clone(events.run());
    parent.set("attempts", 3_u32);
    let child = parent.child("researcher").with_session("s-child").with_state(parent.state_for_child());
    child.set("attempts", 0_u32);
    let call = Reply::call("keep", json!({ "value": 2 }));
    let (of_child, _) = runner_of(&world, &begun, [call, Reply::text("b")]);
    let mut child_events = of_child.run_with(child, "Look it up.");
    let child = Arc::clone(child_events.run());
    while child_events.next().await.is_some() {}
    assert_eq!(child.parent_id(), Some(parent.id())); // C09
    assert_ne!(child.id(), parent.id()); // C09
    assert_eq!(parent.value::<u32>("attempts").as_deref(), Some(&3)); // C09
    assert_eq!((&child.state()["kept"], &parent.state()["kept"]), (&json!(2), &json!(1))); // C09
    gate.open();
    events.answer().await.unwrap();
    assert_eq!(
        (world.state("s").await, world.state("s-child").await),
        (json!({ "kept": 1 }), json!({ "kept": 2 }))
    );
    // The entries say whose child wrote them.
    for entry in world.entries("s-child").await {
        let EntryContent { run, parent_run, agent, branch, .. } = &entry.content;
        assert_eq!((run, parent_run.as_ref()), (child.id(), Some(parent.id()))); // C09
        assert_eq!((agent.as_deref(), branch.as_deref()), (child.agent(), child.branch()));
    }
    assert!(world.store.load(&key("s-child")).await.unwrap().is_some());
}

tests! {
    a_question_of_a_body_is_answered_in_another_process, an_answer_of_a_front_end_is_an_object_or_its_text,
    the_original_call_is_read_from_the_confirmation_of_a_stored_batch, each_call_of_a_stored_batch_has_its_own_actions,
    a_child_run_in_a_session_of_its_own_changes_nothing_of_its_parent,
}
