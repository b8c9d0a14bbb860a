//! Workers and callers that come, go and die.

use std::time::Duration;

use tool_fleet::{CallState, DurableOpenCalls, QueueLimits};
use tool_runtime::{
    CallOutcome, CancellationToken, RunContext,
    call::Operation,
    open_calls::{MemoryOpenCalls, SharedOpenCallStore},
    prelude::*,
};

use super::{Broker, DurablePool, arguments_of, open_calls, other_process, over_queues};

over_queues! {
    a_call_that_ends_in_time_is_an_ordinary_outcome,
    a_call_waits_for_a_worker,
    a_result_of_a_caller_that_is_gone_is_taken_once_by_others,
    a_read_of_a_dead_worker_goes_on_elsewhere,
    a_started_call_of_a_dead_worker_is_interrupted,
    a_call_ends_after_three_workers,
    a_call_of_a_long_running_tool_is_left_open_at_once,
    a_body_that_names_an_operation_stays_open,
    a_full_queue_names_its_limit,
    a_call_that_no_worker_takes_expires,
    a_call_that_expires_may_have_run_at_a_dead_worker,
    a_token_removes_a_queued_call,
    a_token_cancels_a_read_and_leaves_a_started_call_open,
    an_open_call_is_cancelled_at_its_worker,
    calls_of_other_tools_need_no_queue,
    a_stopped_worker_returns_its_reads,
    an_open_call_that_is_discarded_does_not_run,
    a_prepared_call_runs_as_it_was_judged,
    a_read_that_is_cancelled_as_its_wait_ends_is_removed,
    an_open_call_that_continues_is_not_cancelled,
    an_open_call_whose_durable_call_is_lost_is_answered,
}

/// Returns the operation of an open call, and the text of its interim result.
fn operation_of(outcome: &CallOutcome) -> (String, String) {
    let CallOutcome::Pending(pending) = outcome else { panic!("{outcome:?} is not open") };
    let Operation::LongRunning(Some(operation)) = &pending.operation else { panic!("{pending:?}") };
    (operation.clone(), pending.result.as_ref().map(|it| it.text().to_string()).unwrap_or_default())
}

async fn a_call_that_ends_in_time_is_an_ordinary_outcome(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let probe = pool.start_worker();
    probe.released.cancel();
    let caller = pool.caller(pool.durable().wait(Duration::from_secs(60)), &open_calls()).await;
    for tool in ["book", "forecast"] {
        let outcome = caller.call(tool, arguments_of(tool)).await;
        assert!(outcome.is_finished(), "{outcome:?}");
        assert!(!outcome.result().unwrap().is_error(), "{outcome:?}");
    }
    let wrong = caller.call("add", json!({ "a": 1, "b": i64::MAX })).await;
    assert!(wrong.result().unwrap().is_error());
    assert_eq!(pool.states().await, []);
}

async fn a_call_waits_for_a_worker(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    let outcome = caller.call("book", json!({})).await;
    let (operation, text) = operation_of(&outcome);
    assert!(text.contains(&operation), "{text}");
    let listed = pool.queue.list_calls(&[CallState::Queued]).await.unwrap();
    assert_eq!(listed.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), [operation]);
    let probe = pool.start_worker();
    probe.released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!(answered[0].result.text(), "1");
    assert_eq!(Some(&answered[0].address), outcome.address());
    assert_eq!((pool.states().await, probe.bodies()), (vec![], 1));
}

async fn a_result_of_a_caller_that_is_gone_is_taken_once_by_others(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let store = open_calls();
    let caller = pool.caller(pool.durable(), &store).await;
    let outcome = caller.call("book", json!({})).await;
    let address = outcome.address().unwrap().clone();
    drop(caller);
    pool.start_worker().released.cancel();
    pool.reach(CallState::Finished).await;
    let processes = [(); 4].map(|()| (pool.durable(), other_process(&store)));
    let answering = processes.iter().map(|(durable, executor)| durable.answer_open_calls(executor));
    let answered = futures_util::future::join_all(answering).await;
    let answered: Vec<_> = answered.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(answered.len(), 1);
    assert_eq!((answered[0].result.text().as_ref(), &answered[0].address), ("1", &address));
    assert_eq!(pool.states().await, []);
}

async fn a_read_of_a_dead_worker_goes_on_elsewhere(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let first = pool.start_worker();
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("forecast", arguments_of("forecast")).await.is_finished());
    first.entered.notified().await;
    pool.end_worker(0).await;
    let second = pool.start_worker();
    second.released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!(answered[0].result.text(), "Paris 2 by body 1");
    assert_eq!(*first.keys.lock().unwrap(), *second.keys.lock().unwrap());
}

async fn a_started_call_of_a_dead_worker_is_interrupted(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let first = pool.start_worker();
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("book", json!({})).await.is_finished());
    first.entered.notified().await;
    pool.end_worker(0).await;
    let second = pool.start_worker();
    second.released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    let text = answered[0].result.text();
    assert!(
        text.contains("1 worker ended during it; it may have taken effect, and is not run again"),
        "{text}"
    );
    assert_eq!((first.bodies(), second.bodies()), (1, 0));
    // Listed without its arguments.
    let dead = pool.queue.list_calls(&[CallState::Interrupted]).await.unwrap();
    assert_eq!((dead.len(), dead[0].bytes, dead[0].was_started), (1, 0, true));
}

async fn a_call_ends_after_three_workers(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("forecast", arguments_of("forecast")).await.is_finished());
    for worker in 0..3 {
        let probe = pool.start_worker();
        probe.entered.notified().await;
        pool.end_worker(worker).await;
    }
    let last = pool.start_worker();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!(answered[0].result.text(), "the call was interrupted: 3 workers ended during it");
    assert_eq!((last.bodies(), pool.states().await), (0, vec![CallState::Interrupted]));
}

async fn a_call_of_a_long_running_tool_is_left_open_at_once(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let caller =
        pool.caller(pool.durable().only(["none"]).wait(Duration::from_secs(60)), &open_calls()).await;
    let outcome = caller.call("train", json!({})).await;
    operation_of(&outcome); // X10
    pool.start_worker().released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!((answered[0].result.text().as_ref(), answered[0].is_final), ("1", true));
}

async fn a_body_that_names_an_operation_stays_open(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    let outcome = caller.call("order", json!({})).await;
    let address = outcome.address().unwrap();
    pool.start_worker();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!((answered[0].result.text().as_ref(), answered[0].is_final), ("ordered", false));
    // From here on, it is the operation's, and no record of the queue is missed.
    let answered = pool.durable().answer_open_calls(&caller.executor).await.unwrap();
    assert!(answered.is_empty(), "{answered:?}");
    assert_eq!(caller.executor.open_operation(address).await.unwrap().as_deref(), Some("order-7"));
    let delivered = caller.executor.submit_result(address, Ok("delivered".into())).await.unwrap();
    assert_eq!((delivered.text().as_ref(), pool.states().await), ("delivered", vec![]));
}

async fn a_full_queue_names_its_limit(broker: Broker, name: &'static str) {
    let limits = QueueLimits { calls: 1, ..QueueLimits::default() };
    let mut pool = DurablePool::with_limits(broker.clone(), name, limits).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("book", json!({})).await.is_finished());
    let refused = caller.call("book", json!({})).await;
    let text = refused.result().unwrap().text().to_string();
    assert!(text.contains("is full: it has 1 of 1 calls"), "{text}");
    assert_eq!(pool.states().await, [CallState::Queued]);
}

async fn a_call_that_no_worker_takes_expires(broker: Broker, name: &'static str) {
    let limits = QueueLimits { call_age: Duration::from_secs(2), ..QueueLimits::default() };
    let mut pool = DurablePool::with_limits(broker, name, limits).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("book", json!({})).await.is_finished());
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    let text = answered[0].result.text();
    assert!(text.contains("no worker took the call before it expired; unless another program changed the queue, nothing was executed"), "{text}");
    assert_eq!(pool.states().await, []);
}

async fn a_call_that_expires_may_have_run_at_a_dead_worker(broker: Broker, name: &'static str) {
    let limits = QueueLimits { call_age: Duration::from_secs(2), ..QueueLimits::default() };
    let mut pool = DurablePool::with_limits(broker, name, limits).await;
    let probe = pool.start_worker();
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    let outcome = caller.call("forecast", arguments_of("forecast")).await;
    assert!(!outcome.is_finished(), "{outcome:?}");
    probe.entered.notified().await;
    pool.end_worker(0).await;
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!(answered[0].result.text(), "the call was interrupted: 1 worker ended during it");
}

async fn a_token_removes_a_queued_call(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let caller = pool.caller(pool.durable().wait(Duration::from_secs(60)), &open_calls()).await;
    let token = CancellationToken::new();
    let calling = caller.call_in(RunContext::new().with_cancellation(token.clone()), "book");
    let cancelling = async {
        pool.reach(CallState::Queued).await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(calling, cancelling);
    assert!(outcome.is_finished() && outcome.result().unwrap().is_error(), "{outcome:?}");
    // Also if the body had no time for it.
    while !pool.states().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn a_token_cancels_a_read_and_leaves_a_started_call_open(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let probe = pool.start_worker();
    let caller = pool.caller(pool.durable().wait(Duration::from_secs(60)), &open_calls()).await;
    for tool in ["forecast", "book"] {
        let token = CancellationToken::new();
        let calling = caller.call_in(RunContext::new().with_cancellation(token.clone()), tool);
        let cancelling = async {
            probe.entered.notified().await;
            token.cancel();
            if tool == "forecast" {
                probe.cancelled.notified().await;
            }
        };
        let (outcome, ()) = tokio::join!(calling, cancelling);
        assert_eq!(outcome.is_finished(), tool == "forecast", "{outcome:?}");
    }
    probe.released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!(answered[0].result.text(), "2");
}

async fn an_open_call_is_cancelled_at_its_worker(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let store = open_calls();
    let caller = pool.caller(pool.durable(), &store).await;
    let durable = pool.durable();
    // While it is queued, it does not run.
    let queued = caller.call("book", json!({})).await;
    assert_eq!(durable.cancel_call(queued.address().unwrap()).await.unwrap(), Some(CallState::Queued));
    let answered = durable.wait_for_answers(&other_process(&store)).await.unwrap();
    assert!(answered[0].result.is_error());
    let probe = pool.start_worker();
    for (tool, state) in [("forecast", CallState::Taken), ("book", CallState::Started)] {
        let outcome = caller.call(tool, arguments_of(tool)).await;
        probe.entered.notified().await;
        let address = outcome.address().unwrap();
        // The open call is rejected by the program, which no longer needs its result.
        assert_eq!(durable.cancel_call(address).await.unwrap(), Some(state));
        if tool == "forecast" {
            probe.cancelled.notified().await;
            durable.wait_for_answers(&caller.executor).await.unwrap();
        }
    }
    probe.released.cancel();
    let answered = durable.wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!(answered[0].result.text(), "2");
    assert_eq!(durable.cancel_call(queued.address().unwrap()).await.unwrap(), None);
}

async fn calls_of_other_tools_need_no_queue(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let caller = pool.caller(pool.durable().only([format!("{name}__book")]), &open_calls()).await;
    let unavailable = caller.call("add", json!({ "a": 1, "b": 2 })).await;
    let result = unavailable.result().unwrap();
    assert!(result.is_error(), "{}", result.text());
    assert!(!caller.call("book", json!({})).await.is_finished());
    pool.start_worker().released.cancel();
    assert_eq!(pool.durable().wait_for_answers(&caller.executor).await.unwrap().len(), 1);
}

/// Once its time to drain is nearly over. A started call has the rest of it.
async fn a_stopped_worker_returns_its_reads(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let (probe, stop) = pool.start_stoppable_worker(Duration::from_secs(4));
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("forecast", arguments_of("forecast")).await.is_finished());
    probe.entered.notified().await;
    stop.cancel();
    pool.reach(CallState::Queued).await;
    let listed = pool.queue.list_calls(&CallState::ALL).await.unwrap();
    assert_eq!((listed.len(), listed[0].workers), (1, 0));
    (&mut pool.workers[0]).await.unwrap().unwrap();
    pool.start_worker().released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!(answered[0].result.text(), "Paris 2 by body 1");
}

async fn an_open_call_that_is_discarded_does_not_run(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let store = SharedOpenCallStore::new(DurableOpenCalls::new(MemoryOpenCalls::new(), pool.durable()));
    let caller = pool.caller(pool.durable(), &store).await;
    let discarded = caller.call("book", json!({})).await;
    let rejected = caller.call("book", json!({})).await;
    let kept = caller.call("book", json!({})).await;
    caller.executor.discard(discarded.address().unwrap()).await.unwrap();
    let no = Err(ToolError::new(ErrorKind::Denied, "not any more"));
    caller.executor.submit_result(rejected.address().unwrap(), no).await.unwrap();
    assert_eq!(pool.states().await, [CallState::Queued]);
    let probe = pool.start_worker();
    probe.released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!(Some(&answered[0].address), kept.address());
    assert_eq!((probe.bodies(), pool.states().await), (1, vec![]));
}

async fn a_prepared_call_runs_as_it_was_judged(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let probe = pool.start_worker();
    let caller = pool.caller(pool.durable().wait(Duration::from_secs(60)), &open_calls()).await;
    let outcome = caller.call("stay", json!({ "city": "Paris" })).await;
    assert_eq!(outcome.result().unwrap().text(), "stayed in PARIS");
    assert_eq!(*probe.keys.lock().unwrap(), ["PARIS"]);
}

/// Another program purges the queue, or the broker has lost it.
async fn an_open_call_whose_durable_call_is_lost_is_answered(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    let (lost, kept) = (caller.call("book", json!({})).await, caller.call("book", json!({})).await);
    pool.queue.cancel_call(&operation_of(&lost).0).await.unwrap();
    assert_eq!(pool.queue.purge_calls(&[CallState::Cancelled]).await.unwrap().len(), 1);
    let CallOutcome::Pending(pending) = &lost else { panic!("{lost:?}") };
    let ended = pool.durable().ended_call(pending).await.unwrap().unwrap();
    assert!(ended.outcome.unwrap_err().to_string().contains("it may have taken effect"));
    let answered = pool.durable().answer_open_calls(&caller.executor).await.unwrap();
    assert_eq!(answered.iter().map(|it| Some(&it.address)).collect::<Vec<_>>(), [lost.address()]);
    let text = answered[0].result.text();
    assert!(text.contains("the call was removed from its queue; it may have taken effect"), "{text}");
    let open = caller.executor.open_calls().await.unwrap();
    assert_eq!(open.iter().map(|it| Some(it.address())).collect::<Vec<_>>(), [kept.address()]);
}

/// The wait is shorter than the heartbeat with which its worker learns of the cancellation.
async fn a_read_that_is_cancelled_as_its_wait_ends_is_removed(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let probe = pool.start_worker();
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    let token = CancellationToken::new();
    let calling = caller.call_in(RunContext::new().with_cancellation(token.clone()), "forecast");
    let cancelling = async {
        probe.entered.notified().await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(calling, cancelling);
    assert!(outcome.is_finished() && outcome.result().unwrap().is_error(), "{outcome:?}");
    probe.cancelled.notified().await;
    while !pool.states().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The executor consumes the record of the open call, and stores it again.
async fn an_open_call_that_continues_is_not_cancelled(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let store = SharedOpenCallStore::new(DurableOpenCalls::new(MemoryOpenCalls::new(), pool.durable()));
    let caller = pool.caller(pool.durable(), &store).await;
    let open = caller.call("train", json!({})).await;
    let address = open.address().unwrap().clone();
    let continued = caller.executor.continue_calls([address.clone()]).await.unwrap().run().await;
    assert_eq!(operation_of(&continued[0]), operation_of(&open));
    assert_eq!(pool.states().await, [CallState::Queued]);
    pool.start_worker().released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!((answered[0].result.text().as_ref(), &answered[0].address), ("1", &address));
}
