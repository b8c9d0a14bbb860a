//! Redirected calls in stored sessions: what is stored about a call is about the tool that runs.

use tool_agent::{Agent, Answers, EndReason, ScriptedModel, model::Reply};
use tool_runtime::{CallOutcome, ToolCall, open_calls::ProgramKey, prelude::*};

use super::{
    caller::Caller,
    open_calls::tests,
    world::{StoreFactory, World, run},
};
use crate::runner::open::assert_valid;

/// Signs in.
#[tool(register = false)]
fn sign_in(#[arg(secret)] password: String) -> String {
    format!("signed in with {} letters", password.len())
}

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(path: String) -> String {
    format!("{path} is removed")
}

fn redirected(name: &str, arguments: Value) -> ToolCall {
    ToolCall::new("call_tool", json!({ "name": name, "arguments": arguments })).with_id("c")
}

fn tools() -> Registry {
    Registry::builder().add(Caller::new()).tool::<sign_in>().tool::<remove>().build().unwrap()
}

// T11
async fn the_secrets_of_a_redirected_call_are_stored_encrypted_or_not_at_all<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let agent = || {
        let call = redirected("sign_in", json!({ "password": "hunter2" }));
        let model = ScriptedModel::new([Reply::calls([call]), Reply::text("Done.")]);
        Agent::builder("clerk", model).tools(world.executor(tools()).build().unwrap())
    };
    let outlives_process = world.store.outlives_process();
    let end = world.runner_of(agent()).run_with(run("plain"), "Sign in.").end().await;
    assert_eq!(matches!(end.reason, EndReason::StoreFailed { .. }), outlives_process, "{}", end.reason);
    let sealed = world.runner_of(agent()).with_program_key(ProgramKey::new([1; 32]));
    assert_eq!(sealed.run_with(run("s"), "Sign in.").answer().await.unwrap(), "Done.");
    let bodies: String = world.entries("s").await.iter().map(|it| it.content.body.to_string()).collect();
    assert_eq!(bodies.contains("hunter2"), !outlives_process);
    assert!(bodies.contains("signed in with 7 letters") || outlives_process);
}

// T11
async fn another_process_answers_a_redirected_call<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let process = |replies: Vec<Reply>| {
        let model = ScriptedModel::new(replies);
        let agent = Agent::builder("clerk", model.clone()).tools(world.executor(tools()).build().unwrap());
        (world.runner_of(agent).with_program_key(ProgramKey::new([1; 32])), model)
    };
    let (first, _) = process(vec![Reply::calls([redirected("remove", json!({ "path": "a" }))])]);
    let end = first.run_with(run("s"), "Remove it.").end().await;
    assert_eq!((&end.reason, end.open.len()), (&EndReason::OpenCalls, 1));
    let CallOutcome::Pending(pending) = &end.open[0] else { panic!() };
    assert_eq!((&*pending.call.name, pending.call.redirected_from.as_deref()), ("remove", Some("call_tool")));
    let (second, model) = process(vec![Reply::text("Done.")]);
    let answers = Answers::new().approve(pending.address.clone());
    assert_eq!(second.resume(run("s"), answers).answer().await.unwrap(), "Done.");
    let messages = &model.requests()[0].messages;
    let result = messages.last().unwrap().tool_results().next().unwrap().clone();
    // The result answers the call that the model made.
    assert_eq!((result.text().as_ref(), result.called_name()), ("a is removed", "call_tool"));
    assert_eq!(result.id.to_string(), "c");
    assert_valid(&second.history(&run("s")).await);
}

tests! {
    the_secrets_of_a_redirected_call_are_stored_encrypted_or_not_at_all,
    another_process_answers_a_redirected_call,
}
