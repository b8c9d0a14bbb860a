//! Calls that use the session of their own run, and tools that a hook gives to a run.

use std::sync::{Arc, Mutex, OnceLock};

use tool_agent::{Agent, Message, Runner, ScriptedModel, hook, model::Reply};
use tool_runtime::{ToolContext, open_calls::ProgramKey, prelude::*};
use tool_session::EntryContent;

use super::{
    open_calls::tests,
    world::{StoreFactory, World, run, tools},
};

/// The conversation that a call of its own session reads, and `true` if it removed the session.
type Seen = Arc<Mutex<Option<(Vec<String>, bool)>>>;

/// Reads the conversation of its own run, and removes the session.
#[tool(register = false)]
async fn look_back(runner: &OnceLock<Runner>, seen: &Seen, cx: &ToolContext) -> Result<String, ToolError> {
    let (Some(runner), Some(run)) = (runner.get(), cx.run()) else { return Err(ToolError::failed("no run")) };
    let texts = runner.history(run).await.iter().map(Message::text).collect();
    *seen.lock().map_err(|_| ToolError::failed("poisoned"))? =
        Some((texts, runner.remove_session(run).await));
    Ok("looked".to_owned())
}

/// Runs a call of the tool, and returns what it saw.
async fn seen_by_call(with_store: impl FnOnce(Runner) -> Runner) -> (Vec<String>, bool) {
    let (own, seen) = (Arc::new(OnceLock::new()), Seen::default());
    let tools = Registry::builder().tool::<look_back>().provide_shared(Arc::clone(&own));
    let tools = tools.provide(Arc::clone(&seen)).build().unwrap();
    let model = ScriptedModel::new([Reply::call("look_back", "{}"), Reply::text("Done.")]);
    let agent = Agent::builder("historian", model).tools(tools).build().unwrap();
    let runner = with_store(Runner::new(agent).with_app("shop"));
    assert!(own.set(runner.clone()).is_ok());
    assert_eq!(runner.run_with(run("s"), "What was said?").answer().await.unwrap(), "Done.");
    let seen = seen.lock().unwrap().take();
    seen.unwrap()
}

async fn a_call_reads_the_stored_conversation_of_its_own_run_and_does_not_remove_it<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let (texts, is_removed) = seen_by_call(|runner| runner.with_store(world.store.clone())).await;
    assert_eq!((texts[0].as_str(), texts.len(), is_removed), ("What was said?", 2, false));
    assert_eq!(world.kinds("s").await.last().map(String::as_str), Some("end"));
}

#[tokio::test]
async fn a_call_reads_the_conversation_of_its_own_run_without_a_store() {
    let (texts, is_removed) = seen_by_call(|runner| runner).await;
    assert_eq!((texts[0].as_str(), texts.len(), is_removed), ("What was said?", 2, false));
}

async fn an_outcome_with_a_secret_of_a_tool_that_a_hook_added_is_encrypted<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let call = Reply::call("sign_in", json!({ "user": "ada", "password": "hunter2" }));
    let model = ScriptedModel::new([call, Reply::text("Done.")]);
    let agent = Agent::builder("clerk", model).hook(hook::before_model(|mut step| async move {
        step.request.tools = tools();
        Ok(step.into())
    }));
    let runner = world.runner_of(agent).with_program_key(ProgramKey::new([1; 32]));
    runner.run_with(run("s"), "Sign in.").answer().await.unwrap();
    let entries = world.entries("s").await;
    let mut outcomes = entries.iter().filter(|entry| &*entry.content.kind == EntryContent::CALL_OUTCOME);
    let outcome = outcomes.next().unwrap().content.body.as_str();
    assert_eq!(outcome.contains("ada"), !world.store.outlives_process(), "{outcome}");
}

tests! {
    a_call_reads_the_stored_conversation_of_its_own_run_and_does_not_remove_it,
    an_outcome_with_a_secret_of_a_tool_that_a_hook_added_is_encrypted,
}
