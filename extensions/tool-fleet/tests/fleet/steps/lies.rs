//! Answers that no worker gives: their sender is limited to its pool, and to what its caller would permit.

use std::sync::Arc;

use tool_runtime::{
    Executor,
    policy::{Rule, Rules},
    prelude::*,
};

use super::{Lie, Ran, StepPool, run_one};

/// The answer of a worker about a call, with the text that it claims to run.
fn preparation(text: &str, permission: Value) -> Lie {
    let body =
        json!({ "arguments": text, "canonical": text, "confirmation": null, "permission": permission });
    Some(("prepared", body))
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_decision_denies_the_call() {
    let pool = StepPool::start(preparation(r#"{"city":"oslo","days":2}"#, json!(null))).await;
    let text = pool.stay("oslo", 2).await.text().into_owned();
    assert!(text.contains("claims a permission check, but does not decide"), "{text}");
    assert_eq!((pool.ran.list().len(), pool.calls()), (0, 0));
}

/// The worker that runs the call decides, too.
#[tokio::test(start_paused = true)]
async fn a_forged_permission_lifts_no_permission_of_the_worker_that_runs() {
    let lie = preparation(r#"{"city":"OSLO","days":0}"#, json!({ "Ok": "allow" }));
    let pool = StepPool::start(lie).await;
    assert_eq!(pool.stay("oslo", 0).await.text(), "Denied: not at all");
    let lie = preparation(r#"{"city":"OSLO","days":9}"#, json!({ "Ok": "allow" }));
    let pool = StepPool::start(lie).await;
    let text = pool.stay("oslo", 9).await.text().into_owned();
    assert!(text.contains("the caller was not given an approval"), "{text}");
    assert_eq!(pool.ran.list().len(), 0);
}

/// It judged a text that the worker would prepare into another one.
#[tokio::test(start_paused = true)]
async fn a_call_that_its_worker_would_prepare_otherwise_than_it_was_judged_does_not_run() {
    let pool = StepPool::start(preparation(r#"{"city":"oslo","days":2}"#, json!({ "Ok": "allow" }))).await;
    let text = pool.stay("oslo", 2).await.text().into_owned();
    assert!(text.contains("the worker would prepare other arguments than the caller judged"), "{text}");
    assert_eq!((pool.ran.list().len(), pool.calls()), (0, 1));
}

/// Rules of the caller hold for whatever a worker says.
#[tokio::test(start_paused = true)]
async fn arguments_that_a_worker_replaces_are_judged_by_the_caller() {
    for (text, reason) in [
        (r#"{"city":"ROME","days":2}"#, "Denied: a rule denies it"),
        (r#"{"city":"ROME"}"#, "/days"),
        ("ROME", "Invalid arguments"),
    ] {
        let pool = StepPool::start(preparation(text, json!({ "Ok": "allow" }))).await;
        let rules = Rules::new([Rule::deny("*stay:ROME")]);
        let executor = Executor::builder(pool.executor.tools().clone()).rules(rules).build().unwrap();
        let result = run_one(&executor, "trip__stay", json!({ "city": "oslo", "days": 2 })).await;
        assert!(result.text().contains(reason), "{}", result.text());
        assert_eq!((pool.ran.list().len(), pool.calls()), (0, 0));
    }
}

/// The text that it answers for is not the one that follows from its arguments.
#[tokio::test(start_paused = true)]
async fn answers_for_another_text_are_no_answers() {
    let mut lie = preparation(r#"{"city":"OSLO","days":2}"#, json!({ "Ok": "allow" }));
    if let Some((_, body)) = &mut lie {
        body["canonical"] = json!(r#"{"city":"OSLO","days":1}"#);
    }
    let pool = StepPool::start(lie).await;
    let text = pool.stay("oslo", 2).await.text().into_owned();
    assert!(text.contains("`prepare` function must return its own result unchanged"), "{text}");
    assert_eq!((pool.ran.list().len(), pool.calls()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_another_kind_is_an_error() {
    let pool = StepPool::start(Some(("leave", json!(null)))).await;
    let text = pool.stay("oslo", 2).await.text().into_owned();
    assert!(text.contains("another message than it was asked for; nothing was executed"), "{text}");
}

/// Fires the rocket.
#[tool(register = false)]
fn fire(ran: &Ran) {
    ran.0.lock().unwrap().push("fired".to_owned());
}

/// Fires another rocket.
#[tool(register = false, name = "trip__fire")]
fn fire_here(ran: &Ran) {
    ran.0.lock().unwrap().push("fired".to_owned());
}

#[tokio::test(start_paused = true)]
async fn a_worker_redirects_to_tools_of_its_pool_alone() {
    let lie = Some(("redirected", json!({ "name": "fire", "arguments": "{}" })));
    let pool = StepPool::start(lie).await;
    let relay = Arc::clone(pool.executor.tools().get("trip__relay").unwrap());
    let tools = Registry::builder().add(relay).tool::<fire>().provide_shared(Arc::clone(&pool.ran)).build();
    let executor = Executor::new(tools.unwrap());
    let text = run_one(&executor, "trip__relay", json!({})).await.text().into_owned();
    assert!(text.starts_with("Tool not found: trip__fire"), "{text}");
    // Of another set, under a name that begins as those of the pool.
    let relay = Arc::clone(pool.executor.tools().get("trip__relay").unwrap());
    let tools =
        Registry::builder().add(relay).tool::<fire_here>().provide_shared(Arc::clone(&pool.ran)).build();
    let text = run_one(&Executor::new(tools.unwrap()), "trip__relay", json!({})).await.text().into_owned();
    assert!(text.contains("cannot call `trip__fire`, which is no tool of its process"), "{text}");
    assert_eq!(pool.ran.list().len(), 0);
}
