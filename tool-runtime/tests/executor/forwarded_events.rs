//! Events of runs below a call that reach its receivers on other ways than a batch of the same process.

use std::sync::{Arc, OnceLock};

use tool_runtime::{
    Executor, RunContext, ToolCall,
    executor::{forward_child_event, forward_child_event_now},
    prelude::*,
};

use super::{calls, events, executor, run, short, told};

/// The executor of nested calls, set before they run.
#[derive(Default)]
struct Inner(OnceLock<Executor>);

/// Says nothing.
#[tool(register = false)]
fn leaf() {}

/// Passes on the events of a call in another process.
#[tool(register = false)]
async fn relay(cx: &ToolContext, inner: &Inner) -> Result<(), ToolError> {
    let inner = inner.0.get().ok_or_else(|| ToolError::failed("no executor"))?;
    let mut listener = inner.subscribe();
    inner.run(vec![ToolCall::new("leaf", "{}").with_id("far")]).await;
    let mut events = events(&mut listener).into_iter();
    if let (Some(started), Some(finished)) = (events.next(), events.next()) {
        forward_child_event(cx, started).await;
        forward_child_event_now(cx, finished);
    }
    Ok(())
}

#[test]
fn events_of_another_process_are_shown_below_their_call() {
    let inner = Inner::default();
    let _ = inner.0.set(executor(Registry::builder().tool::<leaf>()));
    let executor = executor(Registry::builder().tool::<relay>().provide(inner));
    // Without a receiver, they are not passed on.
    run(executor.run(calls(&["relay"])));
    let mut listener = executor.subscribe();
    run(executor.run(calls(&["relay"])));
    assert_eq!(told(&mut listener), ["started 0", "0 > started far", "0 > finished far", "finished 0"]);
}

/// Runs a call of the next executor in a child run.
#[tool(register = false)]
async fn descend(cx: &ToolContext, inner: &Inner, to: String) -> Result<(), ToolError> {
    let inner = inner.0.get().ok_or_else(|| ToolError::failed("no executor"))?;
    let call = match &*to {
        "leaf" => ToolCall::new("leaf", "{}"),
        _ => ToolCall::new("descend", json!({ "to": "leaf" })),
    };
    inner.batch(vec![call.with_id(to)]).with_run(cx.child_run("below")?).run().await;
    Ok(())
}

// Q23
#[test]
fn a_listener_receives_an_event_once_however_deep_its_run_is() {
    // The calls at the top and at the bottom have the same executor.
    let (top, middle) = (Arc::new(Inner::default()), Arc::new(Inner::default()));
    let outer =
        executor(Registry::builder().tool::<descend>().tool::<leaf>().provide_shared(Arc::clone(&top)));
    let between = executor(Registry::builder().tool::<descend>().provide_shared(Arc::clone(&middle)));
    assert!(top.0.set(between.clone()).is_ok() && middle.0.set(outer.clone()).is_ok());
    let (mut listener, mut of_middle) = (outer.subscribe(), between.subscribe());
    let call = ToolCall::new("descend", json!({ "to": "middle" })).with_id("0");
    run(outer.batch(vec![call]).with_run(RunContext::new()).run());
    let told: Vec<_> = events(&mut listener).iter().map(short).collect();
    assert_eq!(
        told,
        [
            "started 0",
            "0 > started middle",
            "0 > middle > started leaf",
            "0 > middle > finished leaf",
            "0 > finished middle",
            "finished 0"
        ]
    );
    let told: Vec<_> = events(&mut of_middle).iter().map(short).collect();
    assert_eq!(
        told,
        ["started middle", "middle > started leaf", "middle > finished leaf", "finished middle"]
    );
}
