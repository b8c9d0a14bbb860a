//! Runners without a store of the program: their own store in memory has the conversations and the state.

use tool_agent::{Agent, Message, Runner, ScriptedModel, model::Reply};
use tool_runtime::prelude::*;

use super::world::{agent, run};

fn runner(replies: impl IntoIterator<Item = Reply>) -> (Runner, ScriptedModel) {
    let (agent, model) = agent(replies);
    (Runner::new(agent.build().unwrap()).with_app("shop"), model)
}

fn remember(values: Value) -> Reply {
    Reply::call("remember", json!({ "values": values }))
}

/// Returns the state with which a run ends.
async fn state_of(runner: &Runner, session: &str, user: &str) -> Value {
    let mut events = runner.run_with(run(session).with_user(user), "Go.");
    while events.next().await.is_some() {}
    json!(*events.run().state())
}

#[tokio::test]
async fn state_outlives_its_run_without_a_store() {
    let values = json!({ "plan": "pro", "temp:page": 2, "user:language": "fr", "app:rate": 3 });
    let answers = (0..4).map(|_| Reply::text("Done."));
    let (runner, _) = runner([remember(values)].into_iter().chain(answers));
    state_of(&runner, "s", "ada").await;
    let later = runner.clone();
    assert_eq!(
        state_of(&later, "s", "ada").await,
        json!({ "plan": "pro", "user:language": "fr", "app:rate": 3 })
    ); // V01 V05
    assert_eq!(state_of(&later, "t", "ada").await, json!({ "user:language": "fr", "app:rate": 3 })); // V05
    assert_eq!(state_of(&later, "s", "ben").await, json!({ "app:rate": 3 })); // V05
}

#[tokio::test]
async fn a_session_that_makes_room_takes_its_conversation_and_its_state_along() {
    let values = json!({ "plan": "pro", "user:language": "fr" });
    let answers = (0..3).map(|_| Reply::text("Done."));
    let (runner, _) = runner([remember(values)].into_iter().chain(answers));
    let runner = runner.with_max_sessions(1);
    state_of(&runner, "one", "ada").await;
    state_of(&runner, "two", "ada").await;
    assert!(runner.history(&run("one").with_user("ada")).await.is_empty());
    assert_eq!(state_of(&runner, "one", "ada").await, json!({ "user:language": "fr" }));
    assert_eq!((runner.history(&run("one").with_user("ada")).await.len(), runner.session_count()), (2, 1));
}

#[tokio::test]
async fn a_removed_session_begins_anew_and_a_runner_with_another_store_has_none() {
    let answers = (0..3).map(|_| Reply::text("Done."));
    let (runner, model) = runner([remember(json!({ "plan": "pro" }))].into_iter().chain(answers));
    state_of(&runner, "s", "ada").await;
    let context = || run("s").with_user("ada");
    assert!(runner.remove_session(&context()).await && !runner.remove_session(&context()).await);
    assert_eq!(state_of(&runner, "s", "ada").await, json!({}));
    assert_eq!(model.requests().last().unwrap().messages.len(), 1);
    let other = runner.clone().with_store(tool_session::InMemoryStore::new());
    assert!(other.history(&context()).await.is_empty());
    assert_eq!(
        runner.history(&context()).await.iter().map(Message::text).collect::<Vec<_>>(),
        ["Go.", "Done."]
    );
}

#[test]
fn a_run_of_a_session_in_memory_needs_no_timer() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let model = ScriptedModel::new([Reply::text("Hello."), Reply::text("Ada.")]);
    let runner = Runner::new(Agent::builder("greeter", model).build().unwrap());
    runtime.block_on(async {
        assert_eq!(runner.run_with(run("s"), "I am Ada.").answer().await.unwrap(), "Hello.");
        assert_eq!(runner.run_with(run("s"), "Who am I?").answer().await.unwrap(), "Ada.");
        assert_eq!(runner.history(&run("s")).await.len(), 4);
    });
}
