//! The ends of the calls of a batch: in order, independent of each other, dropped.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    task::Poll,
    time::{Duration, Instant},
};

use tool_runtime::{RunContext, ToolCall, event::EventKind, executor::Finish, prelude::*};

use super::{
    Counter, building, calls, echo, hang, texts,
    ways::{Watch, each_way, each_way_paused},
};

// H14, D04: models repeat ids.
#[test]
fn calls_with_the_same_id_each_have_their_own_end_in_a_dropped_batch() {
    each_way(async |way| {
        let tools = Registry::builder().tool::<echo>().tool::<hang>().provide(Counter::default());
        let executor = way.executor(tools);
        for [first, second] in [["echo", "hang"], ["hang", "echo"], ["hang", "hang"]] {
            let arguments = |name: &str| if name == "echo" { r#"{"text":"a"}"# } else { "{}" };
            let call = |name: &str| ToolCall::new(name, arguments(name)).with_id("0");
            let mut batch = Box::pin(executor.run(vec![call(first), call(second)]));
            assert!(futures_util::poll!(&mut batch).is_pending());
            drop(batch);
            if way.watch != Watch::Listener {
                continue;
            }
            let (mut started, mut finished) = (Vec::new(), Vec::new());
            for event in executor.events().unwrap() {
                match event.kind {
                    EventKind::Started { call } => started.push(call.name.to_string()),
                    EventKind::Finished { result } => {
                        assert_eq!(*event.title, *result.name);
                        // With ends in order of completion, a call that had ended keeps its result.
                        let is_done =
                            &*result.name == "echo" && (way.size() == 1 || way.finish == Finish::AsCompleted);
                        let text = if is_done { "a" } else { "Cancelled" };
                        assert_eq!(result.text(), text, "{} {way:?}", result.name);
                        finished.push(result.name.to_string());
                    }
                    other => panic!("{other:?}"),
                }
            }
            let begun = if way.size() == 1 && first == "hang" { 1 } else { 2 };
            assert_eq!(started, [first, second][..begun]);
            started.sort();
            finished.sort();
            assert_eq!(finished, started, "{way:?}");
        }
    });
}

// D04
#[test]
fn the_duration_of_a_call_is_the_duration_of_its_body() {
    type Began = Arc<Mutex<Option<(Instant, Duration)>>>;
    /// Takes longer than all calls before it.
    #[tool(register = false)]
    fn slow(began: &Began) {
        let (start, before) = {
            let mut began = began.lock().unwrap();
            let (start, before) = began.as_mut().unwrap();
            *before = start.elapsed();
            (*start, *before)
        };
        while start.elapsed() <= before * 2 + Duration::from_millis(1) {}
    }
    each_way(async |way| {
        let began = Began::default();
        let tools = Registry::builder().tool::<echo>().tool::<slow>().provide(Arc::clone(&began));
        let executor = way.executor(tools.provide(Counter::default()));
        *began.lock().unwrap() = Some((Instant::now(), Duration::ZERO));
        let first = ToolCall::new("echo", r#"{"text":"a"}"#);
        let outcomes =
            executor.run(vec![first, ToolCall::new("slow", "{}"), ToolCall::new("none", "{}")]).await;
        let [first, slow, none] = [0, 1, 2].map(|at: usize| outcomes[at].result().unwrap().duration);
        let before = began.lock().unwrap().unwrap().1;
        assert!(first <= before && slow > before, "{first:?}, {slow:?} after {before:?} in {way:?}");
        assert_eq!(none, Duration::ZERO);
    });
}

// G09, G11
#[test]
fn a_batch_that_a_body_stops_starts_no_other_call_and_is_not_steered() {
    /// Stops its run.
    #[tool(register = false)]
    fn stop(cx: &ToolContext) -> &'static str {
        cx.run().unwrap().cancellation().cancel();
        "stopped"
    }
    each_way(async |way| {
        let (ran, asked) = (Counter::default(), Counter::default());
        let executor = way.executor(Registry::builder().tool::<stop>().tool::<echo>().provide(ran.clone()));
        let echo = |id: &str| ToolCall::new("echo", r#"{"text":"a"}"#).with_id(id);
        let mut calls = calls(&["stop"]);
        calls.extend(["1", "2", "3"].map(echo));
        let asking = asked.clone();
        let batch = executor
            .batch(calls)
            .steering(&super::steered(move || asking.count() > 0))
            .with_run(RunContext::new());
        let outcomes = executor.drive(batch).await;
        assert_eq!(texts(&outcomes), ["stopped", "Cancelled", "Cancelled", "Cancelled"]);
        assert_eq!((ran.get(), asked.get()), (0, 0));
        if let Some(mut told) = executor.texts() {
            told.sort();
            let each = |what: &str| (0..4).map(|id| format!("{what} {id}")).collect::<Vec<_>>();
            assert_eq!(told, [each("finished"), each("started")].concat());
        }
    });
}

// G11: busy calls do not prevent the answer of another call.
#[test]
fn a_body_that_returns_at_its_cancellation_keeps_its_result_beside_busy_bodies() {
    /// A future that wakes itself forever; the third poll stops the run.
    #[tool(register = false)]
    async fn busy(polls: &Counter, cx: &ToolContext) {
        poll_fn(|task| {
            if polls.count() == 6 {
                cx.run().unwrap().cancellation().cancel();
            }
            task.waker().wake_by_ref();
            Poll::<()>::Pending
        })
        .await;
    }
    each_way_paused(async |way| {
        if way.size() < 5 {
            return;
        }
        let tools = Registry::builder().tool::<busy>().tool::<super::obey>().provide(Counter::default());
        let executor = way.of(building(tools).grace_period(Duration::ZERO));
        let calls = calls(&["busy", "busy", "busy", "busy", "obey"]);
        let outcomes = executor.drive(executor.batch(calls).with_run(RunContext::new())).await;
        assert_eq!(texts(&outcomes)[4], "stopped", "{way:?}");
    });
}

// A body that waits is not polled again by each step of its batch.
#[test]
fn a_body_that_waits_is_polled_twice_before_its_batch_waits() {
    /// Never returns, and is never woken.
    #[tool(register = false)]
    async fn wait(polls: &Counter) {
        poll_fn(|_| {
            polls.count();
            Poll::<()>::Pending
        })
        .await;
    }
    each_way(async |way| {
        let polls = Counter::default();
        let executor = way.executor(Registry::builder().tool::<wait>().provide(polls.clone()));
        let mut batch = Box::pin(executor.run(calls(&["wait", "wait"])));
        assert!(futures_util::poll!(&mut batch).is_pending());
        assert_eq!(polls.get(), 2 * way.size().min(2), "{way:?}");
    });
}
