//! The guarantees of each queue, and the power of a client of the broker without the key.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use tool_fleet::{
    CallQueue, CallState, FleetError, LeaseState, NewCall, QueueEpoch, QueueLimits, QueuedCall, StartGrant,
};
use tool_runtime::{definition::ContentHash, prelude::*};

use super::{Broker, DurablePool, open_calls, over_queues};

over_queues! {
    a_start_is_given_once,
    a_late_worker_has_no_power,
    a_call_goes_to_one_worker_of_its_keys,
    a_call_is_stored_once_by_its_id,
    a_returned_call_counts_no_worker,
    a_returned_call_that_is_cancelled_is_kept_as_a_result,
    a_cancelled_call_is_not_started,
    only_a_new_state_changes_the_time_of_a_call,
    what_waits_is_purged_and_what_runs_is_not,
    a_call_that_is_removed_by_its_age_is_returned_once,
    bytes_are_limited,
    results_are_limited,
    altered_and_moved_calls_are_not_run,
    an_altered_result_is_not_read,
    a_worker_of_an_earlier_request_has_no_power,
    a_worker_of_one_pool_answers_no_call_of_another,
}

const LEASE: Duration = Duration::from_secs(30);

fn key(name: &str) -> ContentHash {
    ContentHash::of(name)
}

fn new_call(id: &str, body: &'static [u8]) -> NewCall {
    NewCall { id: id.to_owned(), key: key("tool"), max_workers: 3, request: Bytes::from_static(body) }
}

async fn open(broker: &Broker, name: &str) -> Arc<dyn CallQueue> {
    broker.queue(name, QueueLimits::default()).await
}

async fn take(queue: &dyn CallQueue, lease: Duration) -> QueueEpoch {
    loop {
        if let Some(taken) = queue.take_call(&[key("tool")], "worker", lease).await.unwrap() {
            return taken.call;
        }
        queue.settle_calls().await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn state(queue: &dyn CallQueue, id: &str) -> Option<CallState> {
    queue.read_call(id).await.unwrap().map(|(call, _)| call.state)
}

async fn find(queue: &dyn CallQueue, id: &str) -> QueuedCall {
    queue.find_call(id).await.unwrap().unwrap()
}

async fn a_start_is_given_once(broker: Broker, name: &'static str) {
    let queue = open(&broker, name).await;
    assert!(queue.put_call(new_call("a-1", b"request")).await.unwrap());
    let call = take(&*queue, LEASE).await;
    let other = QueueEpoch { epoch: call.epoch + 1, ..call.clone() };
    assert_eq!(queue.start_call(&other).await.unwrap(), StartGrant::Refused);
    assert_eq!(queue.start_call(&call).await.unwrap(), StartGrant::Given);
    assert!(!queue.return_call(&call).await.unwrap());
    assert_eq!(state(&*queue, "a-1").await, Some(CallState::Started));
    assert!(queue.take_call(&[key("tool")], "other", LEASE).await.unwrap().is_none());
}

/// One whose lease is over, after another worker has taken the call.
async fn a_late_worker_has_no_power(broker: Broker, name: &'static str) {
    let queue = open(&broker, name).await;
    queue.put_call(new_call("a-1", b"request")).await.unwrap();
    let late = take(&*queue, Duration::from_millis(50)).await;
    let next = take(&*queue, LEASE).await;
    assert_eq!((late.epoch, next.epoch), (1, 2));
    assert_eq!(queue.extend_lease(&late, LEASE).await.unwrap(), LeaseState::Lost);
    assert_eq!(queue.start_call(&late).await.unwrap(), StartGrant::Refused);
    assert!(!queue.return_call(&late).await.unwrap());
    assert!(!queue.end_call(&late, Bytes::from_static(b"late")).await.unwrap());
    assert_eq!(queue.extend_lease(&next, LEASE).await.unwrap(), LeaseState::Held);
    assert!(queue.end_call(&next, Bytes::from_static(b"result")).await.unwrap());
    let (call, result) = queue.read_call("a-1").await.unwrap().unwrap();
    assert_eq!((call.state, call.epoch, call.bytes, &*result), (CallState::Finished, 2, 6, &b"result"[..]));
    assert!(queue.remove_call("a-1").await.unwrap());
    assert!(!queue.remove_call("a-1").await.unwrap());
}

async fn a_call_goes_to_one_worker_of_its_keys(broker: Broker, name: &'static str) {
    let queue = open(&broker, name).await;
    for number in 0..8 {
        queue.put_call(new_call(&format!("{number}-1"), b"request")).await.unwrap();
    }
    assert!(queue.take_call(&[key("other")], "worker", LEASE).await.unwrap().is_none());
    let keys = [key("other"), key("tool")];
    let first = queue.take_call(&keys, "worker", LEASE).await.unwrap().unwrap();
    assert_eq!((first.call.id.as_str(), first.key, &*first.request), ("0-1", key("tool"), &b"request"[..]));
    // As those of a worker with many tools.
    let keys: Vec<_> = (0..100).map(|number| key(&number.to_string())).chain(keys).collect();
    let taking = (0..16).map(|_| queue.take_call(&keys, "worker", LEASE));
    let taken = futures_util::future::join_all(taking).await;
    let mut ids: Vec<_> = taken.into_iter().flat_map(Result::unwrap).map(|taken| taken.call.id).collect();
    // Takers of one moment may pass over calls that others look at.
    while let Some(taken) = queue.take_call(&keys, "worker", LEASE).await.unwrap() {
        ids.push(taken.call.id);
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..8).map(|number| format!("{number}-1")).collect::<Vec<_>>());
}

async fn a_call_is_stored_once_by_its_id(broker: Broker, name: &'static str) {
    let queue = open(&broker, name).await;
    assert!(queue.put_call(new_call("a-1", b"first")).await.unwrap());
    assert!(!queue.put_call(new_call("a-1", b"second")).await.unwrap());
    // As a statement that is sent again since its answer was lost.
    assert!(queue.put_call(new_call("a-1", b"first")).await.unwrap());
    let (call, request) = queue.read_call("a-1").await.unwrap().unwrap();
    assert_eq!((call.state, call.epoch, &*request), (CallState::Queued, 0, &b"first"[..]));
    assert!(!queue.remove_call("a-1").await.unwrap());
    assert!(queue.read_call("b-1").await.unwrap().is_none());
}

async fn a_returned_call_counts_no_worker(broker: Broker, name: &'static str) {
    let queue = open(&broker, name).await;
    queue.put_call(new_call("a-1", b"request")).await.unwrap();
    for epoch in 1..=5 {
        let call = take(&*queue, LEASE).await;
        assert_eq!(call.epoch, epoch);
        assert!(queue.return_call(&call).await.unwrap());
    }
    let (call, _) = queue.read_call("a-1").await.unwrap().unwrap();
    assert_eq!((call.state, call.workers), (CallState::Queued, 0));
}

/// The age of its request is over soon.
async fn a_returned_call_that_is_cancelled_is_kept_as_a_result(broker: Broker, name: &'static str) {
    let limits = QueueLimits { call_age: Duration::from_secs(2), ..QueueLimits::default() };
    let queue = broker.queue(name, limits).await;
    queue.put_call(new_call("a-1", b"request")).await.unwrap();
    let call = take(&*queue, LEASE).await;
    assert_eq!(queue.cancel_call("a-1").await.unwrap(), Some(CallState::Taken));
    assert!(queue.return_call(&call).await.unwrap());
    tokio::time::sleep(limits.call_age).await;
    queue.settle_calls().await.unwrap();
    assert_eq!(state(&*queue, "a-1").await, Some(CallState::Cancelled));
}

async fn a_cancelled_call_is_not_started(broker: Broker, name: &'static str) {
    let queue = open(&broker, name).await;
    queue.put_call(new_call("a-1", b"request")).await.unwrap();
    let call = take(&*queue, Duration::from_millis(50)).await;
    assert_eq!(queue.cancel_call("a-1").await.unwrap(), Some(CallState::Taken));
    assert_eq!(queue.start_call(&call).await.unwrap(), StartGrant::Refused);
    assert_eq!(
        queue.extend_lease(&call, Duration::from_millis(50)).await.unwrap(),
        LeaseState::CancelRequested
    );
    // Its worker is lost.
    while state(&*queue, "a-1").await != Some(CallState::Cancelled) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        queue.settle_calls().await.unwrap();
    }
    assert_eq!(queue.cancel_call("a-1").await.unwrap(), Some(CallState::Cancelled));
    assert_eq!(queue.cancel_call("b-1").await.unwrap(), None);
}

/// A call that is taken stays in its state as it is to be cancelled.
async fn only_a_new_state_changes_the_time_of_a_call(broker: Broker, name: &'static str) {
    let queue = open(&broker, name).await;
    queue.put_call(new_call("a-1", b"request")).await.unwrap();
    queue.put_call(new_call("b-1", b"request")).await.unwrap();
    take(&*queue, LEASE).await;
    let [taken, queued] = [find(&*queue, "a-1").await, find(&*queue, "b-1").await];
    while SystemTime::now() < queued.changed.max(taken.changed) + Duration::from_millis(5) {
        tokio::task::yield_now().await;
    }
    for call in [&taken, &queued] {
        assert_eq!(queue.cancel_call(&call.id).await.unwrap(), Some(call.state));
    }
    assert_eq!(find(&*queue, "a-1").await, QueuedCall { cancel_requested: true, ..taken });
    let cancelled = find(&*queue, "b-1").await;
    assert!(cancelled.changed > queued.changed, "{cancelled:?}");
    assert_eq!(cancelled, QueuedCall { state: CallState::Cancelled, changed: cancelled.changed, ..queued });
    // Again, it changes nothing.
    assert_eq!(queue.cancel_call("b-1").await.unwrap(), Some(CallState::Cancelled));
    assert_eq!(find(&*queue, "b-1").await, cancelled);
}

async fn what_waits_is_purged_and_what_runs_is_not(broker: Broker, name: &'static str) {
    let queue = open(&broker, name).await;
    for id in ["a-1", "b-1", "c-1"] {
        queue.put_call(new_call(id, b"request")).await.unwrap();
    }
    let (first, second) = (take(&*queue, LEASE).await, take(&*queue, LEASE).await);
    assert!(queue.end_call(&first, Bytes::from_static(b"result")).await.unwrap());
    let purged = queue.purge_calls(&CallState::ENDED).await.unwrap();
    assert_eq!(
        purged.iter().map(|call| (&call.id, call.state)).collect::<Vec<_>>(),
        [(&first.id, CallState::Finished)]
    );
    assert_eq!(queue.purge_calls(&CallState::ALL).await.unwrap().len(), 1);
    let left = queue.list_calls(&CallState::ALL).await.unwrap();
    assert_eq!(left.iter().map(|call| &call.id).collect::<Vec<_>>(), [&second.id]);
}

/// Its values in a store are found by what is known of it.
async fn a_call_that_is_removed_by_its_age_is_returned_once(broker: Broker, name: &'static str) {
    let (call_age, result_age) = (Duration::from_millis(300), Duration::from_millis(300));
    let queue = broker.queue(name, QueueLimits { call_age, result_age, ..QueueLimits::default() }).await;
    let new = new_call("a-1", b"request");
    queue.put_call(new.clone()).await.unwrap();
    let mut removed = Vec::new();
    while state(&*queue, "a-1").await.is_some() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        removed.extend(queue.settle_calls().await.unwrap());
    }
    let [call] = &removed[..] else { panic!("{removed:?}") };
    assert_eq!(
        (&*call.id, call.state, call.request, call.bytes),
        ("a-1", CallState::Expired, new.request_hash(), 7)
    );
    assert_eq!(queue.settle_calls().await.unwrap(), []);
}

async fn bytes_are_limited(broker: Broker, name: &'static str) {
    let limits = QueueLimits { bytes: 10, ..QueueLimits::default() };
    let queue = broker.queue(name, limits).await;
    queue.put_call(new_call("a-1", b"1234567")).await.unwrap();
    let full = queue.put_call(new_call("b-1", b"1234567")).await.unwrap_err();
    let text = full.to_string();
    assert!(text.contains("it has 7 of 10 bytes, and 7 more are needed"), "{text}");
    assert!(text.contains("fleet purge"), "{text}");
    let large = NewCall { request: vec![0; queue.max_bytes() + 1].into(), ..new_call("c-1", b"") };
    let large = queue.put_call(large).await.unwrap_err();
    assert!(matches!(large, FleetError::TooLargeForQueue { .. }), "{large}");
}

async fn results_are_limited(broker: Broker, name: &'static str) {
    let limits = QueueLimits { bytes: 10_000, ..QueueLimits::default() };
    let queue = broker.queue(name, limits).await;
    queue.put_call(new_call("a-1", b"1234567")).await.unwrap();
    let call = take(&*queue, LEASE).await;
    let full = queue.end_call(&call, vec![0; 20_000].into()).await.unwrap_err().to_string();
    assert!(full.contains("it has 7 of 10000 bytes, and 19993 more are needed"), "{full}");
    assert_eq!(state(&*queue, "a-1").await, Some(CallState::Taken));
    assert!(queue.end_call(&call, vec![0; 9_000].into()).await.unwrap());
    // A late repetition, and one of another epoch, are no error.
    assert!(queue.end_call(&call, vec![0; 9_000].into()).await.is_ok());
    let other = QueueEpoch { epoch: call.epoch + 1, ..call };
    assert!(!queue.end_call(&other, vec![0; 20_000].into()).await.unwrap());
    // The end of a call has room.
    queue.put_call(new_call("b-1", b"1234567")).await.unwrap();
    let call = take(&*queue, LEASE).await;
    assert!(queue.end_call(&call, vec![0; 4096].into()).await.unwrap());
}

/// A client of the broker without the key writes a request, and copies one to another record and another tool.
async fn altered_and_moved_calls_are_not_run(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("book", json!({})).await.is_finished());
    let (call, request) = {
        let id = pool.queue.list_calls(&CallState::ALL).await.unwrap().remove(0).id;
        pool.queue.read_call(&id).await.unwrap().unwrap()
    };
    for id in ["forged-1", "moved-1"] {
        let request = if id == "moved-1" { request.clone() } else { Bytes::from_static(b"{}") };
        let new = NewCall { id: id.to_owned(), key: call.key, max_workers: 3, request };
        assert!(pool.queue.put_call(new).await.unwrap());
    }
    let probe = pool.start_worker();
    probe.released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!(answered[0].result.text(), "1");
    // No worker reads them, so that they end after three.
    while pool.states().await != [CallState::Interrupted, CallState::Interrupted] {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(probe.bodies(), 1);
}

async fn an_altered_result_is_not_read(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker, name).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    assert!(!caller.call("book", json!({})).await.is_finished());
    let call = pool.queue.list_calls(&CallState::ALL).await.unwrap().remove(0);
    let taken = pool.queue.take_call(&[call.key], "forger", LEASE).await.unwrap().unwrap();
    assert!(pool.queue.end_call(&taken.call, taken.request).await.unwrap());
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    let text = answered[0].result.text();
    assert!(text.contains("was altered in the queue"), "{text}");
}

/// The call was removed, and stored again under its id, as one that is repeated after a crash.
async fn a_worker_of_an_earlier_request_has_no_power(broker: Broker, name: &'static str) {
    let queue = open(&broker, name).await;
    queue.put_call(new_call("a-1", b"first")).await.unwrap();
    let earlier = take(&*queue, Duration::from_millis(50)).await;
    queue.cancel_call("a-1").await.unwrap();
    while state(&*queue, "a-1").await != Some(CallState::Cancelled) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        queue.settle_calls().await.unwrap();
    }
    assert!(queue.remove_call("a-1").await.unwrap());
    assert!(queue.put_call(new_call("a-1", b"second")).await.unwrap());
    let later = take(&*queue, LEASE).await;
    assert_eq!((earlier.epoch, later.epoch), (1, 1));
    assert_eq!(queue.extend_lease(&earlier, LEASE).await.unwrap(), LeaseState::Lost);
    assert_eq!(queue.start_call(&earlier).await.unwrap(), StartGrant::Refused);
    assert!(!queue.return_call(&earlier).await.unwrap());
    assert!(!queue.end_call(&earlier, Bytes::from_static(b"late")).await.unwrap());
    assert_eq!(queue.start_call(&later).await.unwrap(), StartGrant::Given);
    assert!(queue.end_call(&later, Bytes::from_static(b"result")).await.unwrap());
    assert!(!queue.end_call(&earlier, Bytes::from_static(b"late")).await.unwrap());
    assert_eq!(queue.read_call("a-1").await.unwrap().unwrap().1, b"result"[..]);
}

/// A holder of the key of one pool knows the address of an open call of another, and ends a call under its own pool's id of that address.
async fn a_worker_of_one_pool_answers_no_call_of_another(broker: Broker, name: &'static str) {
    let mut pool = DurablePool::new(broker.clone(), name).await;
    let caller = pool.caller(pool.durable(), &open_calls()).await;
    let open = caller.call("book", json!({})).await;
    let address = open.address().unwrap();
    let other: &'static str = Box::leak(format!("{name}-2").into_boxed_str());
    let hostile = DurablePool::new(broker, other).await;
    let mut prefix = ContentHash::of(&("tool-fleet queued call", other, address)).to_string();
    prefix.truncate(32);
    let new = NewCall { id: format!("{prefix}-1"), max_workers: 1, ..new_call("", b"request") };
    assert!(hostile.queue.put_call(new).await.unwrap());
    // An interrupted call is an answer that needs no seal.
    take(&*hostile.queue, Duration::from_millis(50)).await;
    hostile.reach(CallState::Interrupted).await;
    assert!(hostile.durable().answer_open_calls(&caller.executor).await.unwrap().is_empty());
    assert_eq!(caller.executor.open_calls().await.unwrap().len(), 1);
    pool.start_worker().released.cancel();
    let answered = pool.durable().wait_for_answers(&caller.executor).await.unwrap();
    assert_eq!(answered[0].result.text(), "1");
}
