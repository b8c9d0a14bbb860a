//! Queues that fail in the middle of an operation.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tool_fleet::{
    CallQueue, CallState, DurableCalls, FleetError, LeaseState, MemoryCallQueue, MemoryTransport, NewCall,
    QueueEpoch, QueueLimits, QueuedCall, StartGrant, TakenCall,
};
use tool_runtime::{BoxFuture, CancellationToken, RunContext, definition::ContentHash, prelude::*};

use super::{Broker, DurablePool, open_calls, program_key};

/// A queue whose storage fails as a test says.
#[derive(Clone)]
struct FailingQueue {
    inner: MemoryCallQueue,
    /// A call is stored, and its answer is lost.
    loses_answers: Arc<AtomicBool>,
    /// The number of calls that are read, and removed, before each of these fails.
    reads_left: Arc<AtomicUsize>,
    fails_to_remove: Arc<AtomicBool>,
    /// The number of times that the queue was settled.
    settled: Arc<AtomicUsize>,
    /// From a time on, it is settled without an end.
    hangs: CancellationToken,
}

impl FailingQueue {
    fn new(pool: &str) -> Self {
        let (loses_answers, fails_to_remove) = (Arc::default(), Arc::default());
        let reads_left = Arc::new(AtomicUsize::new(usize::MAX));
        let (inner, settled, hangs) = (MemoryCallQueue::new(pool), Arc::default(), CancellationToken::new());
        Self { inner, loses_answers, reads_left, fails_to_remove, settled, hangs }
    }
}

fn away() -> FleetError {
    FleetError::Transport("the database is away".to_owned())
}

impl CallQueue for FailingQueue {
    fn pool(&self) -> &str {
        self.inner.pool()
    }

    fn limits(&self) -> QueueLimits {
        self.inner.limits()
    }

    fn max_bytes(&self) -> usize {
        self.inner.max_bytes()
    }

    fn put_call(&self, call: NewCall) -> BoxFuture<'_, Result<bool, FleetError>> {
        Box::pin(async {
            let stored = self.inner.put_call(call).await?;
            if self.loses_answers.load(Ordering::SeqCst) { Err(away()) } else { Ok(stored) }
        })
    }

    fn take_call<'a>(
        &'a self,
        keys: &'a [ContentHash],
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<TakenCall>, FleetError>> {
        self.inner.take_call(keys, worker, lease)
    }

    fn extend_lease<'a>(
        &'a self,
        call: &'a QueueEpoch,
        lease: Duration,
    ) -> BoxFuture<'a, Result<LeaseState, FleetError>> {
        self.inner.extend_lease(call, lease)
    }

    fn start_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<StartGrant, FleetError>> {
        self.inner.start_call(call)
    }

    fn return_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<bool, FleetError>> {
        self.inner.return_call(call)
    }

    fn end_call<'a>(
        &'a self,
        call: &'a QueueEpoch,
        result: Bytes,
    ) -> BoxFuture<'a, Result<bool, FleetError>> {
        self.inner.end_call(call, result)
    }

    fn read_call<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(QueuedCall, Bytes)>, FleetError>> {
        Box::pin(async move {
            let take_one = |left: usize| left.checked_sub(1);
            match self.reads_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take_one) {
                Ok(_) => self.inner.read_call(id).await,
                Err(_) => Err(away()),
            }
        })
    }

    fn remove_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, FleetError>> {
        Box::pin(async move {
            if self.fails_to_remove.load(Ordering::SeqCst) {
                Err(away())
            } else {
                self.inner.remove_call(id).await
            }
        })
    }

    fn cancel_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<CallState>, FleetError>> {
        self.inner.cancel_call(id)
    }

    fn list_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        self.inner.list_calls(states)
    }

    fn purge_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        self.inner.purge_calls(states)
    }

    fn settle_calls(&self) -> BoxFuture<'_, Result<Vec<QueuedCall>, FleetError>> {
        Box::pin(async {
            self.settled.fetch_add(1, Ordering::SeqCst);
            match self.hangs.is_cancelled() {
                true => std::future::pending().await,
                false => self.inner.settle_calls().await,
            }
        })
    }
}

/// A pool with such a queue, and its durable calls.
async fn failing_pool(name: &'static str) -> (DurablePool, FailingQueue, DurableCalls) {
    let queue = FailingQueue::new(name);
    let mut pool = DurablePool::new(Broker::Memory(MemoryTransport::new()), name).await;
    pool.queue = Arc::new(queue.clone());
    let durable = DurableCalls::new(queue.clone(), program_key().pool_key(name)).unwrap();
    (pool, queue, durable.wait(Duration::from_millis(300)))
}

#[tokio::test(start_paused = true)]
async fn answers_before_a_failure_are_returned() {
    let (mut pool, queue, durable) = failing_pool("failing").await;
    let caller = pool.caller(durable.clone(), &open_calls()).await;
    for _ in 0..2 {
        assert!(!caller.call("book", json!({})).await.is_finished());
    }
    pool.start_worker().released.cancel();
    while pool.states().await != [CallState::Finished, CallState::Finished] {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    queue.reads_left.store(1, Ordering::SeqCst);
    queue.fails_to_remove.store(true, Ordering::SeqCst);
    assert_eq!(durable.answer_open_calls(&caller.executor).await.unwrap().len(), 1);
    queue.reads_left.store(usize::MAX, Ordering::SeqCst);
    queue.fails_to_remove.store(false, Ordering::SeqCst);
    assert_eq!(durable.answer_open_calls(&caller.executor).await.unwrap().len(), 1);
    assert!(caller.executor.open_calls().await.unwrap().is_empty());
}

/// The answer of the database is lost: the caller does not say that nothing runs, and withdraws the call.
#[tokio::test(start_paused = true)]
async fn a_call_that_may_be_stored_is_withdrawn() {
    let (mut pool, queue, durable) = failing_pool("lost").await;
    let caller = pool.caller(durable, &open_calls()).await;
    queue.loses_answers.store(true, Ordering::SeqCst);
    let outcome = caller.call("book", json!({})).await;
    let text = outcome.result().unwrap().text().to_string();
    assert!(text.contains("it is not known whether the call was queued"), "{text}");
    while !pool.states().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let probe = pool.start_worker();
    probe.released.cancel();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(probe.bodies(), 0);
}

/// The run is cancelled, its batch dropped, and the set closed at once.
#[tokio::test(start_paused = true)]
async fn a_set_that_is_closed_withdraws_its_cancelled_calls() {
    let (mut pool, _, durable) = failing_pool("closed").await;
    let caller = pool.caller(durable.wait(Duration::from_secs(60)), &open_calls()).await;
    let token = CancellationToken::new();
    let calling = caller.call_in(RunContext::new().with_cancellation(token.clone()), "book");
    {
        let mut calling = std::pin::pin!(calling);
        tokio::select! { biased; it = &mut calling => panic!("{it:?}"), () = pool.reach(CallState::Queued) => {} }
        token.cancel();
    }
    drop(caller);
    while !pool.states().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_queue_hangs_is_stopped_in_time() {
    let (mut pool, queue, _) = failing_pool("hanging").await;
    let (_, stop) = pool.start_stoppable_worker(Duration::from_secs(30));
    while queue.settled.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    queue.hangs.cancel();
    let settled = queue.settled.load(Ordering::SeqCst);
    while queue.settled.load(Ordering::SeqCst) == settled {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.cancel();
    let stopped = tokio::time::timeout(Duration::from_secs(5), &mut pool.workers[0]).await;
    stopped.unwrap().unwrap().unwrap();
}
