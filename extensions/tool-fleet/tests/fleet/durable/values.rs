//! Durable calls that are too large for their queue, through a store.

use std::{sync::Arc, time::Duration};

use tool_fleet::{CallState, DurableOpenCalls, FleetError, QueueLimits};
use tool_runtime::{
    CancellationToken, RunContext,
    open_calls::{MemoryOpenCalls, SharedOpenCallStore},
    prelude::*,
};

use super::{Broker, DurablePool, open_calls, other_process, over_queues, queue::TestQueue};
use crate::values::{Deed, Operation, TestValues};

/// The limit of a queue: those of the engines, 1 MiB and more, would take long in a program that is not optimized.
const MAX_BYTES: usize = 20_000;

/// A size beyond the limit.
const LARGE: usize = 30_000;

over_queues! {
    a_large_call_waits_and_its_result_is_taken_elsewhere,
    a_large_call_that_ends_in_time_leaves_nothing,
    a_large_call_of_a_dead_worker_goes_on_elsewhere,
    values_of_a_call_that_no_worker_takes_go_with_its_record,
    a_large_result_that_is_not_taken_goes_with_its_record,
    a_large_call_that_is_discarded_or_cancelled_leaves_nothing,
    a_large_call_of_dead_workers_leaves_nothing,
    a_side_without_a_store_is_an_error_that_names_the_way_out,
}

fn large_text() -> String {
    format!("{}b", "a".repeat(LARGE))
}

fn large_arguments() -> Value {
    json!({ "text": large_text() })
}

async fn pool_with(
    broker: Broker,
    name: &'static str,
    limits: QueueLimits,
    store: &TestValues,
) -> DurablePool {
    let mut pool = DurablePool::with_limits(broker, name, limits).await;
    pool.values = Some(store.clone());
    lower_limit(&mut pool);
    pool
}

fn lower_limit(pool: &mut DurablePool) {
    pool.queue = Arc::new(TestQueue::new(Arc::clone(&pool.queue)).with_max_bytes(MAX_BYTES));
}

async fn a_large_call_waits_and_its_result_is_taken_elsewhere(broker: Broker, name: &'static str) {
    let (store, open) = (TestValues::new(), open_calls());
    let mut pool = pool_with(broker, name, QueueLimits::default(), &store).await;
    let caller = pool.caller(pool.durable(), &open).await;
    assert!(!caller.call("keep", large_arguments()).await.is_finished());
    drop(caller);
    let listed = pool.queue.list_calls(&CallState::ALL).await.unwrap();
    assert!(listed[0].bytes <= 256, "{listed:?}");
    pool.start_worker().released.cancel();
    pool.reach(CallState::Finished).await;
    let answered = pool.durable().wait_for_answers(&other_process(&open)).await.unwrap();
    assert!(answered[0].result.text() == large_text(), "{:.200}", answered[0].result.text());
    store.wait_until_empty(2).await;
    for (name, value) in store.stored() {
        assert!(name.starts_with(&format!("{}.", pool.name)), "{name}");
        assert!(!value[..20_000].windows(4).any(|it| it == b"aaaa"), "{name} is sealed");
    }
}

async fn a_large_call_that_ends_in_time_leaves_nothing(broker: Broker, name: &'static str) {
    let store = TestValues::new();
    let mut pool = pool_with(broker, name, QueueLimits::default(), &store).await;
    pool.start_worker().released.cancel();
    let caller = pool.caller(pool.durable().wait(Duration::from_secs(60)), &open_calls()).await;
    let outcome = caller.call("keep", large_arguments()).await;
    assert!(outcome.result().unwrap().text() == large_text(), "{:.200}", outcome.result().unwrap().text());
    // Arguments that fit, and a result that does not.
    let outcome = caller.call("echo", json!({ "text": "x", "times": LARGE })).await;
    assert_eq!(outcome.result().unwrap().text().len(), LARGE);
    store.wait_until_empty(3).await;
    assert_eq!(pool.states().await, []);
}

async fn a_large_call_of_a_dead_worker_goes_on_elsewhere(broker: Broker, name: &'static str) {
    let store = TestValues::new();
    let mut pool = pool_with(broker, name, QueueLimits::default(), &store).await;
    let first = pool.start_worker();
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("reverse", large_arguments()).await.is_finished());
    first.entered.notified().await;
    pool.end_worker(0).await;
    pool.start_worker().released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert!(answered[0].result.text().starts_with("baaa"), "{:.200}", answered[0].result.text());
    store.wait_until_empty(2).await;
}

async fn values_of_a_call_that_no_worker_takes_go_with_its_record(broker: Broker, name: &'static str) {
    let (call_age, result_age) = (Duration::from_secs(1), Duration::from_secs(1));
    let limits = QueueLimits { call_age, result_age, ..QueueLimits::default() };
    let store = TestValues::new();
    let mut pool = pool_with(broker, name, limits, &store).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("keep", large_arguments()).await.is_finished());
    tokio::time::sleep(call_age).await;
    // It looks at the queue, and takes nothing.
    let probe = pool.start_worker();
    store.wait_until_empty(1).await;
    assert_eq!((pool.states().await, probe.bodies()), (vec![], 0));
}

async fn a_large_result_that_is_not_taken_goes_with_its_record(broker: Broker, name: &'static str) {
    let limits = QueueLimits { result_age: Duration::from_secs(1), ..QueueLimits::default() };
    let store = TestValues::new();
    let mut pool = pool_with(broker, name, limits, &store).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("keep", large_arguments()).await.is_finished());
    pool.start_worker().released.cancel();
    store.wait_until_empty(2).await;
    assert_eq!(pool.states().await, []);
}

async fn a_large_call_that_is_discarded_or_cancelled_leaves_nothing(broker: Broker, name: &'static str) {
    let store = TestValues::new();
    let mut pool = pool_with(broker, name, QueueLimits::default(), &store).await;
    let open = SharedOpenCallStore::new(DurableOpenCalls::new(MemoryOpenCalls::new(), pool.durable()));
    let caller = pool.caller(pool.durable(), &open).await;
    let discarded = caller.call("keep", large_arguments()).await;
    caller.executor.discard(discarded.address().unwrap()).await.unwrap();
    store.wait_until_empty(1).await;

    let caller = pool.caller(pool.durable().wait(Duration::from_secs(60)), &open).await;
    let token = CancellationToken::new();
    let batch = caller.executor.batch(caller.batch("keep", large_arguments()));
    let calling = batch.with_run(RunContext::new().with_cancellation(token.clone())).run();
    let cancelling = async {
        pool.reach(CallState::Queued).await;
        token.cancel();
    };
    tokio::join!(calling, cancelling);
    store.wait_until_empty(2).await;
    assert_eq!(pool.states().await, []);
}

async fn a_large_call_of_dead_workers_leaves_nothing(broker: Broker, name: &'static str) {
    let store = TestValues::new();
    let mut pool = pool_with(broker, name, QueueLimits::default(), &store).await;
    let probe = pool.start_worker();
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("keep", large_arguments()).await.is_finished());
    probe.entered.notified().await;
    pool.end_worker(0).await;
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert!(answered[0].result.text().contains("it may have taken effect"), "{answered:?}");
    store.wait_until_empty(1).await;
    // Listed among the dead.
    assert_eq!(pool.states().await, [CallState::Interrupted]);
}

async fn a_side_without_a_store_is_an_error_that_names_the_way_out(broker: Broker, name: &'static str) {
    let store = TestValues::new();
    let mut pool = DurablePool::new(broker, name).await;
    lower_limit(&mut pool);
    pool.start_worker().released.cancel();
    let wait = Duration::from_secs(60);
    let caller = pool.caller(pool.durable().wait(wait), &open_calls()).await;
    for (tool, arguments, problem) in [
        ("keep", large_arguments(), "the call was not queued: it has 30"),
        ("echo", json!({ "text": "x", "times": LARGE }), "the call ended, and its result is lost: it has 30"),
    ] {
        let outcome = caller.call(tool, arguments).await;
        let text = outcome.result().unwrap().text().to_string();
        assert!(text.contains(problem) && text.contains("takes at most 20000;"), "{text:.300}");
        assert!(text.contains("`DurableCalls::value_store`, `Worker::value_store`"), "{text:.300}");
    }
    let caller = pool.caller(pool.durable().wait(wait).value_store(store.clone()), &open_calls()).await;
    let outcome = caller.call("keep", large_arguments()).await;
    let text = outcome.result().unwrap().text().to_string();
    assert!(
        text.contains("this worker has none; set `Worker::value_store`; the tool did not run"),
        "{text:.300}"
    );
    store.wait_until_empty(1).await;
}

/// Calls a tool with effects in a pool with this store, whose worker ends before the other side takes the result.
async fn outcome_with(store: &TestValues) -> (String, usize) {
    let mut pool =
        pool_with(Broker::Memory(Default::default()), "stores", QueueLimits::default(), store).await;
    let probe = pool.start_worker();
    probe.released.cancel();
    let caller = pool.caller(pool.durable().wait(Duration::from_secs(600)), &open_calls()).await;
    let outcome = caller.call("keep", large_arguments()).await;
    (outcome.result().unwrap().text().to_string(), probe.bodies())
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_for_a_while_costs_no_durable_call() {
    for kind in [Operation::Put, Operation::Get] {
        // The first put is the one of the caller.
        let store = TestValues::choosing(move |it, number, _| match it == kind && (1..4).contains(&number) {
            true => Deed::Fail,
            false => Deed::Work,
        });
        let (text, bodies) = outcome_with(&store).await;
        assert!(text == large_text() && bodies == 1, "{text:.300}");
        store.wait_until_empty(2).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_for_longer_is_an_error_that_says_what_ran() {
    for (kind, from, deed, problem, bodies) in [
        (
            Operation::Put,
            0,
            Deed::Fail,
            "the call was not queued: the store of large values failed: the disk is full",
            0,
        ),
        (Operation::Get, 0, Deed::Fail, "the disk is full; the tool did not run", 0),
        (
            Operation::Get,
            0,
            Deed::Return(None),
            "it is missing; both sides need the same store; the tool did not run",
            0,
        ),
        (
            Operation::Put,
            1,
            Deed::Fail,
            "the call ended, and its result is lost: the store of large values failed: the disk is full",
            1,
        ),
        (
            Operation::Get,
            1,
            Deed::Return(None),
            "the call ended, and its result is lost: the store of large values failed",
            1,
        ),
    ] {
        let failing = deed.clone();
        let store = TestValues::choosing(move |it, number, _| match it == kind && number >= from {
            true => failing.clone(),
            false => Deed::Work,
        });
        let (text, count) = outcome_with(&store).await;
        assert!(text.contains(problem) && count == bodies, "{deed:?} {text:.300}");
        store.wait_until_empty(0).await;
    }
}

/// The token is cancelled once the call has ended, while its result cannot be read.
#[tokio::test(start_paused = true)]
async fn a_caller_that_is_cancelled_before_it_reads_a_result_leaves_its_call_open() {
    let is_back = CancellationToken::new();
    let back = is_back.clone();
    let store = TestValues::choosing(move |kind, number, _| match kind {
        Operation::Get if number > 0 && !back.is_cancelled() => Deed::Fail,
        _ => Deed::Work,
    });
    let mut pool =
        pool_with(Broker::Memory(Default::default()), "cancelled", QueueLimits::default(), &store).await;
    pool.start_worker().released.cancel();
    let caller = pool.caller(pool.durable().wait(Duration::from_secs(60)), &open_calls()).await;
    let token = CancellationToken::new();
    let batch = caller.executor.batch(caller.batch("keep", large_arguments()));
    let calling = batch.with_run(RunContext::new().with_cancellation(token.clone())).run();
    let cancelling = async {
        pool.reach(CallState::Finished).await;
        token.cancel();
    };
    let (outcomes, ()) = tokio::join!(calling, cancelling);
    assert!(!outcomes[0].is_finished(), "{outcomes:?}");
    // The attempts of a withdrawal are over.
    tokio::time::sleep(Duration::from_secs(120)).await;
    is_back.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert!(answered[0].result.text() == large_text(), "{:.300}", answered[0].result.text());
    store.wait_until_empty(2).await;
}

/// The first call's value in place of the second one's.
#[tokio::test(start_paused = true)]
async fn a_value_of_another_call_is_not_read() {
    let earlier = std::sync::Mutex::new(None);
    let store = TestValues::choosing(move |kind, number, value| match (kind, number) {
        (Operation::Get, 0) => {
            *earlier.lock().unwrap() = value;
            Deed::Work
        }
        (Operation::Get, 2) => Deed::Return(earlier.lock().unwrap().clone()),
        _ => Deed::Work,
    });
    let mut pool =
        pool_with(Broker::Memory(Default::default()), "other", QueueLimits::default(), &store).await;
    let probe = pool.start_worker();
    probe.released.cancel();
    let caller = pool.caller(pool.durable().wait(Duration::from_secs(600)), &open_calls()).await;
    assert!(!caller.call("keep", large_arguments()).await.result().unwrap().is_error());
    let text = caller.call("keep", large_arguments()).await.result().unwrap().text().to_string();
    assert!(text.contains("it was changed; the tool did not run"), "{text:.300}");
    assert_eq!(probe.bodies(), 1);
    store.wait_until_empty(3).await;
}

#[tokio::test]
async fn a_store_that_forgets_before_the_queue_is_an_error_that_names_both_times() {
    let day = Duration::from_secs(24 * 3600);
    let limits = QueueLimits { call_age: 2 * day, result_age: day, ..QueueLimits::default() };
    let store = TestValues::new().with_lifetime(3 * day - Duration::from_secs(1));
    let mut pool = pool_with(Broker::Memory(Default::default()), "short", limits, &store).await;
    pool.start_worker();
    let served = (&mut pool.workers[0]).await.unwrap();
    let set = tool_fleet::FleetToolSet::connect_durable(
        pool.broker.transport(),
        tool_fleet::FleetSettings::default(),
        pool.durable(),
    );
    for error in [served.unwrap_err(), set.await.err().unwrap()] {
        let text = error.to_string();
        assert!(matches!(error, FleetError::Invalid(_)), "{text}");
        assert!(
            text.contains("keeps a value for 259199s") && text.contains("needs it for 259200s"),
            "{text}"
        );
    }
    pool.values = Some(TestValues::new().with_lifetime(3 * day));
    pool.caller(pool.durable(), &open_calls()).await;
}

#[cfg(all(feature = "cli", feature = "nats"))]
#[tokio::test(flavor = "multi_thread")]
async fn the_values_of_purged_calls_are_deleted() {
    use tool_cli::{Cli, Exit};
    use tool_fleet::{NatsTransport, cli::FleetCommands};

    let Some(url) = test_support::nats::shared_jetstream_url() else { return };
    let transport = NatsTransport::connect(url).await.unwrap();
    let (store, name) = (TestValues::new(), "purged");
    let mut pool = pool_with(Broker::Nats(transport), name, QueueLimits::default(), &store).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("keep", large_arguments()).await.is_finished());
    pool.start_worker().released.cancel();
    pool.reach(CallState::Finished).await;
    let file = std::env::temp_dir().join(format!("tool-fleet-purged-{}.key", std::process::id()));
    crate::program_key().pool_key(name).save(&file).unwrap();
    let commands = FleetCommands::new().pool(name).value_store(store.clone());
    let arguments = ["calculator", "fleet", "purge", "--yes", "--nats", url, "--key"].map(str::to_owned);
    let arguments: Vec<_> = arguments.into_iter().chain([file.to_str().unwrap().to_owned()]).collect();
    let purging = tokio::task::spawn_blocking(move || Cli::new().extension(commands).run(arguments));
    assert_eq!(purging.await.unwrap(), Exit::Done);
    std::fs::remove_file(&file).unwrap();
    store.wait_until_empty(2).await;
    assert_eq!(pool.states().await, []);
}

#[tokio::test(start_paused = true)]
async fn the_value_of_a_request_that_its_queue_refuses_is_deleted() {
    let store = TestValues::new();
    let limits = QueueLimits { calls: 0, ..QueueLimits::default() };
    let mut pool = pool_with(Broker::Memory(Default::default()), "refused", limits, &store).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    let outcome = caller.call("keep", large_arguments()).await;
    let text = outcome.result().unwrap().text();
    assert!(text.contains("the call was not queued"), "{text:.200}");
    store.wait_until_empty(1).await;
}
