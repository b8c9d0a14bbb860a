//! The state that the calls of a run share, and their actions.

use std::sync::Arc;

use tool_runtime::{
    RunContext, State, ToolCall,
    call::merged_actions,
    definition::Permission,
    hook::Before,
    output::Actions,
    policy::PermissionRequest,
    prelude::*,
    registry::RegistryBuilder,
    serde_json::{Map, Value},
};

use super::{On, building, texts, ways::each_way};

/// Sets a value, and returns the previous one.
#[tool(register = false, idempotent, retry(attempts = 3, initial = "1ms", jitter = false))]
fn keep(
    state: &State,
    cx: &ToolContext,
    name: String,
    value: Value,
    fail_until: Option<u32>,
) -> Result<Value, ToolError> {
    let before = state.value(&name).unwrap_or_default();
    state.set(format!("attempt {}", cx.attempt()), true)?;
    state.set(name, value)?;
    match fail_until {
        Some(attempt) if cx.attempt() < attempt => Err(ToolError::failed("not yet").retryable(true)),
        _ => Ok(before),
    }
}

/// Ends the run, with a result of its own type.
#[tool(register = false)]
fn finish(cx: &ToolContext, fail: Option<bool>) -> Result<u32, ToolError> {
    cx.add_actions(Actions { terminate: true, transfer: Some("billing".to_owned()), ..Actions::default() })?;
    cx.state().set("done", true)?;
    match fail {
        Some(true) => Err(ToolError::failed("no")),
        _ => Ok(42),
    }
}

/// Waits until it is cancelled.
#[tool(register = false)]
async fn wait(state: &State) -> Result<(), ToolError> {
    state.set("waited", true)?;
    std::future::pending().await
}

fn tools() -> RegistryBuilder {
    Registry::builder().tool::<keep>().tool::<finish>().tool::<wait>()
}

fn keeping(id: &str, name: &str, value: Value) -> ToolCall {
    ToolCall::new("keep", json!({ "name": name, "value": value })).with_id(id)
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

// V01, G15
#[test]
fn calls_of_a_group_see_the_same_snapshot_and_later_groups_see_earlier_changes() {
    each_way(async |way| {
        let executor = way.executor(tools());
        let run = Arc::new(RunContext::new().with_state(map(json!({ "k": 0 }))));
        let calls =
            vec![keeping("0", "k", json!(1)), keeping("1", "k", json!(2)), keeping("2", "k", json!(3))];
        let outcomes = executor.drive(executor.batch(calls).with_run(Arc::clone(&run))).await;
        let expected = match way.size() {
            1 => ["0", "1", "2"],
            2 => ["0", "0", "2"],
            _ => ["0", "0", "0"],
        };
        assert_eq!(texts(&outcomes), expected);
        // The last call counts.
        assert_eq!(run.state()["k"], 3);
        // A later batch of the run, and another run.
        let outcomes = executor
            .drive(executor.batch(vec![keeping("3", "k", json!(4))]).with_run(Arc::clone(&run)))
            .await;
        assert_eq!(texts(&outcomes), ["3"]);
        let next = RunContext::new().with_state((*run.state()).clone());
        let outcomes = executor.drive(executor.batch(vec![keeping("4", "k", json!(5))]).with_run(next)).await;
        assert_eq!(texts(&outcomes), ["4"]);
    });
}

/// Sets `k`, the first call after the second one.
#[tool(register = false)]
async fn keep_in_reverse(
    state: &State,
    second_ended: &tokio::sync::Semaphore,
    is_first: bool,
) -> Result<(), ToolError> {
    state.set("k", if is_first { "first" } else { "second" })?;
    state.set(if is_first { "a" } else { "b" }, true)?;
    match is_first {
        true => drop(second_ended.acquire().await),
        false => second_ended.add_permits(1),
    }
    Ok(())
}

// G15: in the order of the calls, not of their ends.
#[test]
fn the_change_of_a_later_call_counts_although_it_ended_first() {
    each_way(async |way| {
        if way.size() == 1 {
            return;
        }
        let ended = tokio::sync::Semaphore::new(0);
        let executor = way.executor(Registry::builder().tool::<keep_in_reverse>().provide(ended));
        let run = Arc::new(RunContext::new());
        let calls = [true, false].map(|first| ToolCall::new("keep_in_reverse", json!({ "is_first": first })));
        executor.drive(executor.batch(calls.into()).with_run(Arc::clone(&run))).await;
        assert_eq!(Value::Object((*run.state()).clone()), json!({ "k": "second", "a": true, "b": true }));
    });
}

// V01
#[test]
fn without_a_run_the_groups_of_a_batch_share_a_state_and_batches_do_not() {
    each_way(async |way| {
        let executor = way.executor(tools());
        for _ in 0..2 {
            let outcomes = executor.run(vec![keeping("0", "k", json!(1)), keeping("1", "k", json!(2))]).await;
            let second = if way.size() == 1 { "1" } else { "null" };
            assert_eq!(texts(&outcomes), ["null", second]);
        }
    });
}

// V03
#[test]
fn changes_of_one_object_by_several_calls_are_merged_in_the_order_of_the_calls() {
    each_way(async |way| {
        let executor = way.executor(tools());
        let run = Arc::new(RunContext::new().with_state(map(json!({ "a": { "z": 0 } }))));
        let calls = vec![
            keeping("0", "a", json!({ "z": 0, "x": 1 })),
            keeping("1", "a", json!({ "z": 0, "y": { "p": 2, "nothing": null } })),
            keeping("2", "b", json!([null])),
        ];
        let outcomes = executor.drive(executor.batch(calls).with_run(Arc::clone(&run))).await;
        let merged = match way.size() {
            // The second call read an object with `x`, and removed it.
            1 => json!({ "z": 0, "y": { "p": 2 } }),
            _ => json!({ "z": 0, "x": 1, "y": { "p": 2 } }),
        };
        assert_eq!(run.state()["a"], merged);
        assert_eq!(run.state()["b"], json!([null]), "lists stay as they are");
        let actions = merged_actions(&outcomes);
        let mut applied = map(json!({ "a": { "z": 0 } }));
        let again = RunContext::new().with_state(std::mem::take(&mut applied));
        again.change_state(&actions.state);
        assert_eq!(again.state()["a"], merged, "the merged actions are the same change: {actions:?}");
    });
}

// V04, S06
#[test]
fn a_call_that_is_denied_blocked_failed_or_cancelled_changes_nothing() {
    each_way(async |way| {
        let hook = On::before(|call| match call.id().to_string().as_str() {
            "blocked" => Ok(Before::block("no")),
            _ => Ok(Before::Continue),
        });
        let denies = |request: &PermissionRequest<'_>| match request.id().to_string().as_str() {
            "denied" => Permission::deny("no"),
            _ => Permission::Allow,
        };
        let executor = way.of(building(tools()).hook(hook).permission(denies));
        let run = Arc::new(RunContext::new());
        let failing = ToolCall::new("finish", json!({ "fail": true })).with_id("failed");
        let calls = vec![keeping("denied", "k", json!(1)), keeping("blocked", "k", json!(2)), failing];
        let outcomes = executor.drive(executor.batch(calls).with_run(Arc::clone(&run))).await;
        assert!(outcomes.iter().all(|it| it.result().unwrap().is_error()), "{outcomes:?}");
        assert!(run.state().is_empty(), "{:?}", run.state());
        assert_eq!(merged_actions(&outcomes), Actions::default());

        let token = run.cancellation().clone();
        let batch = executor.batch(vec![ToolCall::new("wait", "{}")]).with_run(Arc::clone(&run));
        let cancels = async {
            tokio::task::yield_now().await;
            token.cancel();
        };
        let (outcomes, ()) = tokio::join!(executor.drive(batch), cancels);
        assert_eq!(texts(&outcomes), ["Cancelled"]);
        assert!(run.state().is_empty());
    });
}

// V02, J07
#[test]
fn each_attempt_starts_from_fresh_actions() {
    each_way(async |way| {
        let executor = way.executor(tools());
        let run = Arc::new(RunContext::new());
        let call = ToolCall::new("keep", json!({ "name": "k", "value": 1, "fail_until": 3 }));
        let outcomes = executor.drive(executor.batch(vec![call]).with_run(Arc::clone(&run))).await;
        assert_eq!(texts(&outcomes), ["null"]);
        assert_eq!(
            json!(*run.state()),
            json!({ "attempt 3": true, "k": 1 }),
            "of the attempts before, nothing"
        );
    });
}

// V02, D13
#[test]
fn a_custom_result_type_can_request_actions() {
    each_way(async |way| {
        let executor = way.executor(tools());
        let run = Arc::new(RunContext::new());
        let calls = vec![ToolCall::new("finish", "{}"), keeping("1", "k", json!(1))];
        let outcomes = executor.drive(executor.batch(calls).with_run(Arc::clone(&run))).await;
        let result = outcomes[0].result().unwrap();
        assert_eq!(result.structured(), Some(json!(42)));
        let actions = result.actions().unwrap();
        assert_eq!((actions.terminate, actions.transfer.as_deref()), (true, Some("billing")));
        assert_eq!(json!(*run.state()), json!({ "done": true, "attempt 1": true, "k": 1 }));
        // Flags of one call are not visible in the other.
        let other = outcomes[1].result().unwrap().actions().unwrap();
        assert_eq!((other.terminate, &other.transfer), (false, &None));
        assert!(!merged_actions(&outcomes).terminate, "not all ask for it");
    });
}

/// Shares its context.
#[tool(register = false)]
fn leak(cx: &ToolContext, to: &std::sync::Mutex<Vec<ToolContext>>) -> &'static str {
    to.lock().unwrap().push(cx.clone());
    "leaked"
}

// V02
#[test]
fn a_handle_has_no_effect_after_its_attempt() {
    each_way(async |way| {
        let kept = Arc::new(std::sync::Mutex::new(Vec::<ToolContext>::new()));
        let executor = way.executor(Registry::builder().tool::<leak>().provide_shared(Arc::clone(&kept)));
        let run = Arc::new(RunContext::new());
        executor.drive(executor.batch(vec![ToolCall::new("leak", "{}")]).with_run(Arc::clone(&run))).await;
        let cx = kept.lock().unwrap().pop().unwrap();
        let refused = cx.state().set("k", 1).unwrap_err();
        assert_eq!(refused.feedback(), "the state `k` was set after the call was over");
        let refused = cx.add_actions(Actions::default()).unwrap_err();
        assert_eq!(refused.feedback(), "the call has ended; it can no longer request actions");
        assert!(run.state().is_empty() && cx.state().changes().is_empty());
        kept.lock().unwrap().clear();
    });
}

// V05, S09
#[test]
fn a_tool_reads_its_own_changes_and_a_type_mismatch_is_an_error() {
    let state = json!({ "list": "corrupt", "empty": [], "gone": 1, "untouched": true });
    let cx = ToolContext::for_test().with_state(map(state));
    let state = cx.state();
    assert_eq!(state.get::<Vec<u32>>("nothing").unwrap(), None);
    assert_eq!(state.get::<Vec<u32>>("empty").unwrap(), Some(vec![]));
    let corrupt = state.get::<Vec<u32>>("list").unwrap_err();
    assert_eq!(
        corrupt.feedback(),
        "the state `list` is not a valid `alloc::vec::Vec<u32>`",
        "the value is not repeated"
    );
    let source = std::error::Error::source(&corrupt).map(ToString::to_string);
    assert!(source.is_some_and(|it| it.contains("invalid type: string")));
    state.set("list", [1, 2]).unwrap();
    state.remove("gone").unwrap();
    state.remove("nothing").unwrap();
    state.set("empty", json!([])).unwrap();
    assert_eq!(state.get("list").unwrap(), Some(vec![1, 2]));
    assert_eq!((state.get::<u32>("gone").unwrap(), state.value("gone")), (None, None));
    assert_eq!(state.names(), ["empty", "list", "untouched"]);
    assert_eq!(
        json!(state.changes()),
        json!({ "gone": null, "list": [1, 2] }),
        "what is as before is no change"
    );
    let unwritable = state.set("map", std::collections::BTreeMap::from([((1, 2), 3)])).unwrap_err();
    assert!(unwritable.feedback().starts_with("the value for the state `map` is not JSON"), "{unwritable}");
    assert_eq!(format!("{state:?}"), r#"State { names: ["empty", "list", "untouched"], .. }"#);
}

// V02, V03
#[test]
fn merged_actions_keep_flags_the_last_transfer_and_the_highest_versions() {
    let actions = |value: Value| serde_json::from_value::<Actions>(value).unwrap();
    let mut merged = actions(json!({
        "escalate": true, "transfer": "a", "state": { "a": { "x": 1 }, "b": 1, "c": {} }, "artifacts": { "f": 3, "g": 1 },
    }));
    merged.follow(actions(json!({
        "skipSummarization": true, "state": { "a": { "y": 2 }, "b": null, "c": 4 }, "artifacts": { "f": 2, "g": 2, "h": 1 },
    })));
    merged.follow(actions(json!({ "transfer": "b" })));
    let expected = json!({
        "escalate": true, "skipSummarization": true, "transfer": "b",
        "state": { "a": { "x": 1, "y": 2 }, "b": null, "c": 4 }, "artifacts": { "f": 3, "g": 2, "h": 1 },
    });
    assert_eq!(serde_json::to_value(&merged).unwrap(), expected);
}
