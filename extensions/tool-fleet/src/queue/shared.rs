use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tool_runtime::{BoxFuture, definition::ContentHash};

use super::{
    CallQueue, CallState, LeaseState, NewCall, QueueBacklog, QueueEpoch, QueueLimits, QueuedCall, StartGrant,
    TakenCall,
};
use crate::FleetError;

/// A queue that is chosen while the program runs.
impl CallQueue for Arc<dyn CallQueue> {
    fn pool(&self) -> &str {
        (**self).pool()
    }

    fn limits(&self) -> QueueLimits {
        (**self).limits()
    }

    fn max_bytes(&self) -> usize {
        (**self).max_bytes()
    }

    fn put_call(&self, call: NewCall) -> BoxFuture<'_, Result<bool, FleetError>> {
        (**self).put_call(call)
    }

    fn take_call<'a>(
        &'a self,
        keys: &'a [ContentHash],
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<TakenCall>, FleetError>> {
        (**self).take_call(keys, worker, lease)
    }

    fn extend_lease<'a>(
        &'a self,
        call: &'a QueueEpoch,
        lease: Duration,
    ) -> BoxFuture<'a, Result<LeaseState, FleetError>> {
        (**self).extend_lease(call, lease)
    }

    fn start_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<StartGrant, FleetError>> {
        (**self).start_call(call)
    }

    fn return_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<bool, FleetError>> {
        (**self).return_call(call)
    }

    fn end_call<'a>(
        &'a self,
        call: &'a QueueEpoch,
        result: Bytes,
    ) -> BoxFuture<'a, Result<bool, FleetError>> {
        (**self).end_call(call, result)
    }

    fn read_call<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(QueuedCall, Bytes)>, FleetError>> {
        (**self).read_call(id)
    }

    fn find_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<QueuedCall>, FleetError>> {
        (**self).find_call(id)
    }

    fn remove_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, FleetError>> {
        (**self).remove_call(id)
    }

    fn cancel_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<CallState>, FleetError>> {
        (**self).cancel_call(id)
    }

    fn list_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        (**self).list_calls(states)
    }

    fn purge_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        (**self).purge_calls(states)
    }

    fn settle_calls(&self) -> BoxFuture<'_, Result<Vec<QueuedCall>, FleetError>> {
        (**self).settle_calls()
    }

    fn read_backlog(&self) -> BoxFuture<'_, Result<QueueBacklog, FleetError>> {
        (**self).read_backlog()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;
    use crate::MemoryCallQueue;

    const LEASE: Duration = Duration::from_secs(30);

    fn new_call(id: &str) -> NewCall {
        let (id, request) = (id.to_owned(), Bytes::from_static(b"request"));
        NewCall { id, key: ContentHash::of("tool"), max_workers: 3, request }
    }

    async fn take(queue: &impl CallQueue) -> TakenCall {
        queue.take_call(&[ContentHash::of("tool")], "worker", LEASE).await.unwrap().unwrap()
    }

    /// Runs each operation of a queue of the pool `trip`, which is empty.
    async fn run_operations(queue: impl CallQueue, limits: QueueLimits) {
        assert_eq!((queue.pool(), queue.limits(), queue.max_bytes()), ("trip", limits, 1 << 20));
        for id in ["a-1", "b-1"] {
            assert!(queue.put_call(new_call(id)).await.unwrap());
        }
        assert!(!queue.put_call(NewCall { request: "other".into(), ..new_call("a-1") }).await.unwrap());
        let backlog = queue.read_backlog().await.unwrap();
        assert!(backlog.calls == 2 && backlog.oldest_age.is_some(), "{backlog:?}");
        let (call, request) = queue.read_call("a-1").await.unwrap().unwrap();
        assert_eq!((call.state, &*request), (CallState::Queued, &b"request"[..]));
        let taken = take(&queue).await;
        assert_eq!((&*taken.call.id, &*taken.request), ("a-1", &b"request"[..]));
        assert!(
            queue.return_call(&taken.call).await.unwrap() && !queue.return_call(&taken.call).await.unwrap()
        );
        let taken = take(&queue).await.call;
        assert_eq!(queue.extend_lease(&taken, LEASE).await.unwrap(), LeaseState::Held);
        assert_eq!(queue.start_call(&taken).await.unwrap(), StartGrant::Given);
        assert!(queue.end_call(&taken, "result".into()).await.unwrap());
        assert_eq!(queue.find_call("a-1").await.unwrap().unwrap().state, CallState::Finished);
        assert_eq!(queue.cancel_call("b-1").await.unwrap(), Some(CallState::Queued));
        let listed = queue.list_calls(&CallState::ENDED).await.unwrap();
        assert_eq!(listed.iter().map(|call| &*call.id).collect::<Vec<_>>(), ["a-1", "b-1"]);
        assert!(queue.remove_call("a-1").await.unwrap() && !queue.remove_call("a-1").await.unwrap());
        let purged = queue.purge_calls(&CallState::ENDED).await.unwrap();
        assert_eq!(purged.iter().map(|call| &*call.id).collect::<Vec<_>>(), ["b-1"]);
        assert!(queue.put_call(new_call("c-1")).await.unwrap());
        tokio::time::advance(limits.call_age).await;
        assert_eq!(queue.settle_calls().await.unwrap(), []);
        tokio::time::advance(limits.result_age).await;
        let removed = queue.settle_calls().await.unwrap();
        assert_eq!(removed.iter().map(|call| &*call.id).collect::<Vec<_>>(), ["c-1"]);
        assert!(queue.find_call("c-1").await.unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_is_chosen_while_the_program_runs_is_the_chosen_one() {
        let (call_age, result_age) = (Duration::from_secs(60), Duration::from_secs(90));
        let limits = QueueLimits { calls: 7, bytes: 700, call_age, result_age };
        run_operations(MemoryCallQueue::with_limits("trip", limits), limits).await;
        let chosen: Arc<dyn CallQueue> = Arc::new(MemoryCallQueue::with_limits("trip", limits));
        run_operations(chosen, limits).await;
    }
}
