//! A queue within one process.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use tokio::time::Instant;
use tool_runtime::definition::ContentHash;

use super::{
    CallState, LeaseState, NewCall, QueueEpoch, QueueLimits, QueuedCall, StartGrant, TakenCall,
    engine::impl_call_queue,
    limits::{QueueTotals, check_call_size},
    record::{CallRecord, Settlement},
};
use crate::FleetError;

/// The limit of a call or result: the default of a NATS server.
const MAX_BYTES: usize = 1 << 20;

/// A queue within one process, for tests and for programs that may be divided later: its calls end with the process. Clones share them.
#[derive(Clone)]
pub struct MemoryCallQueue(Arc<Shared>);

struct Shared {
    pool: String,
    limits: QueueLimits,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    by_id: HashMap<String, StoredCall>,
    /// Gives the order of the calls.
    last_number: u64,
}

struct StoredCall {
    number: u64,
    record: CallRecord,
    bytes: Bytes,
    lease_end: Instant,
    /// The end of the age of a queued or ended call.
    age_end: Instant,
}

impl Calls {
    fn totals(&self) -> QueueTotals {
        let mut totals = QueueTotals::default();
        self.by_id.values().for_each(|it| totals.add_call(it.record.call.bytes));
        totals
    }
}

impl MemoryCallQueue {
    /// Creates an empty queue of the pool `pool`, with default limits.
    #[must_use]
    pub fn new(pool: impl Into<String>) -> Self {
        Self::with_limits(pool, QueueLimits::default())
    }

    /// Creates an empty queue of the pool `pool`. Ages beyond their range are set to its end.
    #[must_use]
    pub fn with_limits(pool: impl Into<String>, limits: QueueLimits) -> Self {
        Self(Arc::new(Shared { pool: pool.into(), limits: limits.clamped(), calls: Mutex::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a call by `change`; the default without a call.
    fn change_call<T: Default>(&self, id: &str, change: impl FnOnce(&mut StoredCall) -> T) -> T {
        self.lock().by_id.get_mut(id).map(change).unwrap_or_default()
    }

    async fn put_record(&self, new: NewCall) -> Result<bool, FleetError> {
        check_call_size(&new.request, MAX_BYTES)?;
        let limits = self.0.limits;
        let mut calls = self.lock();
        if let Some(stored) = calls.by_id.get(&new.id) {
            return Ok(stored.record.call.request == new.request_hash());
        }
        calls.totals().check_call(&self.0.pool, limits, new.request.len())?;
        calls.last_number += 1;
        let (number, now) = (calls.last_number, Instant::now());
        let record = CallRecord::new(&new, SystemTime::now());
        let age_end = now + limits.call_age;
        let stored = StoredCall { number, record, bytes: new.request, lease_end: now, age_end };
        calls.by_id.insert(new.id, stored);
        Ok(true)
    }

    async fn take_record(
        &self,
        keys: &[ContentHash],
        _: &str,
        lease: Duration,
    ) -> Result<Option<TakenCall>, FleetError> {
        let mut calls = self.lock();
        let now = Instant::now();
        let is_next = |it: &&mut StoredCall| {
            let QueuedCall { state, key, .. } = &it.record.call;
            *state == CallState::Queued && it.age_end > now && keys.contains(key)
        };
        let next = calls.by_id.values_mut().filter(is_next).min_by_key(|it| it.number);
        Ok(next.map(|next| {
            next.record.take(SystemTime::now());
            next.lease_end = now + lease;
            let QueuedCall { id, epoch, key, request, .. } = next.record.call.clone();
            TakenCall { call: QueueEpoch { id, epoch, request }, key, request: next.bytes.clone() }
        }))
    }

    async fn extend_record(&self, call: &QueueEpoch, lease: Duration) -> Result<LeaseState, FleetError> {
        let mut calls = self.lock();
        let Some(stored) = calls.by_id.get_mut(&call.id) else { return Ok(LeaseState::Lost) };
        let state = stored.record.lease_state(call);
        if state != LeaseState::Lost {
            stored.lease_end = Instant::now() + lease;
        }
        Ok(state)
    }

    async fn start_record(&self, call: &QueueEpoch) -> Result<StartGrant, FleetError> {
        let mut calls = self.lock();
        let stored = calls.by_id.get_mut(&call.id);
        Ok(stored.map_or(StartGrant::Refused, |it| it.record.start(call, SystemTime::now())))
    }

    async fn return_record(&self, call: &QueueEpoch) -> Result<bool, FleetError> {
        let age_end = Instant::now() + self.0.limits.result_age;
        Ok(self.change_call(&call.id, |it| {
            let is_returned = it.record.give_back(call, SystemTime::now());
            if is_returned && it.record.call.state.is_ended() {
                it.age_end = age_end;
            }
            is_returned
        }))
    }

    async fn end_record(&self, call: &QueueEpoch, result: Bytes) -> Result<bool, FleetError> {
        check_call_size(&result, MAX_BYTES)?;
        let limits = self.0.limits;
        let mut calls = self.lock();
        let totals = calls.totals();
        let Some(stored) = calls.by_id.get_mut(&call.id) else { return Ok(false) };
        if stored.record.is_held(call) {
            totals.check_result(&self.0.pool, limits, stored.record.call.bytes, result.len())?;
        }
        let is_finished = stored.record.finish(call, result.len() as u64, SystemTime::now());
        if is_finished {
            (stored.bytes, stored.age_end) = (result, Instant::now() + limits.result_age);
        }
        Ok(is_finished)
    }

    async fn read_record(&self, id: &str) -> Result<Option<(QueuedCall, Bytes)>, FleetError> {
        Ok(self.lock().by_id.get(id).map(|it| (it.record.call.clone(), it.bytes.clone())))
    }

    async fn find_record(&self, id: &str) -> Result<Option<QueuedCall>, FleetError> {
        Ok(self.lock().by_id.get(id).map(|it| it.record.call.clone()))
    }

    async fn remove_record(&self, id: &str) -> Result<bool, FleetError> {
        let mut calls = self.lock();
        let Some(stored) = calls.by_id.get_mut(id) else { return Ok(false) };
        match stored.record.call.state {
            CallState::Interrupted => {
                stored.record.call.bytes = 0;
                Ok(!std::mem::take(&mut stored.bytes).is_empty())
            }
            state if state.is_ended() => Ok(calls.by_id.remove(id).is_some()),
            _ => Ok(false),
        }
    }

    async fn cancel_record(&self, id: &str) -> Result<Option<CallState>, FleetError> {
        let age_end = Instant::now() + self.0.limits.result_age;
        Ok(self.change_call(id, |it| {
            let state = it.record.call.state;
            if it.record.cancel(SystemTime::now()) && state == CallState::Queued {
                it.age_end = age_end;
            }
            Some(state)
        }))
    }

    async fn list_records(&self, states: &[CallState]) -> Result<Vec<QueuedCall>, FleetError> {
        let calls = self.lock();
        let mut listed: Vec<_> =
            calls.by_id.values().filter(|it| states.contains(&it.record.call.state)).collect();
        listed.sort_unstable_by_key(|it| it.number);
        Ok(listed.into_iter().map(|it| it.record.call.clone()).collect())
    }

    async fn purge_records(&self, states: &[CallState]) -> Result<Vec<QueuedCall>, FleetError> {
        let is_chosen = |_: &String, it: &mut StoredCall| {
            let state = it.record.call.state;
            states.contains(&state) && !matches!(state, CallState::Taken | CallState::Started)
        };
        let removed: Vec<_> = self.lock().by_id.extract_if(is_chosen).collect();
        Ok(removed.into_iter().map(|(_, it)| it.record.call).collect())
    }

    async fn settle_records(&self) -> Result<Vec<QueuedCall>, FleetError> {
        let (now, result_age) = (Instant::now(), self.0.limits.result_age);
        let is_removed = |_: &String, it: &mut StoredCall| {
            let settled = it.record.settle(it.lease_end <= now, it.age_end <= now, SystemTime::now());
            if settled == Settlement::Changed && it.record.call.state.is_ended() {
                it.age_end = now + result_age;
            }
            settled == Settlement::Removed
        };
        let removed: Vec<_> = self.lock().by_id.extract_if(is_removed).collect();
        Ok(removed.into_iter().map(|(_, it)| it.record.call).collect())
    }
}

impl_call_queue! { MemoryCallQueue {
    fn pool(&self) -> &str {
        &self.0.pool
    }

    fn limits(&self) -> QueueLimits {
        self.0.limits
    }

    fn max_bytes(&self) -> usize {
        MAX_BYTES
    }
} }

impl fmt::Debug for MemoryCallQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryCallQueue").field("pool", &self.0.pool).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::CallQueue as _;

    const AGE: Duration = Duration::from_secs(10);
    const RESULT_AGE: Duration = Duration::from_secs(20);
    const LEASE: Duration = Duration::from_secs(5);

    fn key() -> ContentHash {
        ContentHash::of("tool")
    }

    /// A queue with the call `a-1`.
    async fn queue() -> MemoryCallQueue {
        let limits = QueueLimits { call_age: AGE, result_age: RESULT_AGE, ..QueueLimits::default() };
        let queue = MemoryCallQueue::with_limits("trip", limits);
        let (id, request) = ("a-1".to_owned(), vec![7; 100].into());
        assert!(queue.put_call(NewCall { id, key: key(), max_workers: 3, request }).await.unwrap());
        queue
    }

    async fn take(queue: &MemoryCallQueue) -> Option<QueueEpoch> {
        queue.take_call(&[key()], "worker", LEASE).await.unwrap().map(|taken| taken.call)
    }

    /// Settles the queue; returns the state of the call then, and the number of removed calls.
    async fn settle(queue: &MemoryCallQueue) -> (Option<CallState>, usize) {
        let removed = queue.settle_calls().await.unwrap().len();
        (queue.find_call("a-1").await.unwrap().map(|call| call.state), removed)
    }

    /// The state of the call changes after a time, and not before.
    async fn assert_change_after(
        queue: &MemoryCallQueue,
        time: Duration,
        before: CallState,
        after: Option<CallState>,
    ) {
        advance(time - Duration::from_millis(1)).await;
        assert_eq!(settle(queue).await, (Some(before), 0));
        advance(Duration::from_millis(1)).await;
        assert_eq!(settle(queue).await, (after, usize::from(after.is_none())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_queued_call_is_taken_until_its_age_is_over() {
        let queue = queue().await;
        advance(AGE - Duration::from_millis(1)).await;
        let call = take(&queue).await.unwrap();
        assert!(queue.return_call(&call).await.unwrap());
        advance(Duration::from_millis(1)).await;
        assert_eq!(take(&queue).await, None);
        assert_eq!(settle(&queue).await, (Some(CallState::Expired), 0));
        assert_change_after(&queue, RESULT_AGE, CallState::Expired, None).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_ends_after_its_time_since_it_was_extended() {
        let queue = queue().await;
        let call = take(&queue).await.unwrap();
        advance(LEASE - Duration::from_millis(1)).await;
        assert_eq!(queue.extend_lease(&call, 2 * LEASE).await.unwrap(), LeaseState::Held);
        // Its age is over, too.
        assert_change_after(&queue, 2 * LEASE, CallState::Taken, Some(CallState::Expired)).await;
        assert_eq!(queue.extend_lease(&call, LEASE).await.unwrap(), LeaseState::Lost);
    }

    #[tokio::test(start_paused = true)]
    async fn ends_of_each_kind_are_kept_for_the_age_of_a_result() {
        for kind in ["finished", "cancelled", "returned", "lost"] {
            let queue = queue().await;
            advance(Duration::from_secs(1)).await;
            let mut state = CallState::Cancelled;
            match kind {
                "finished" => {
                    let call = take(&queue).await.unwrap();
                    assert!(queue.end_call(&call, vec![1].into()).await.unwrap());
                    state = CallState::Finished;
                }
                "cancelled" => drop(queue.cancel_call("a-1").await.unwrap()),
                "returned" => {
                    let call = take(&queue).await.unwrap();
                    queue.cancel_call("a-1").await.unwrap();
                    assert!(queue.return_call(&call).await.unwrap());
                }
                _ => {
                    take(&queue).await.unwrap();
                    queue.cancel_call("a-1").await.unwrap();
                    assert_change_after(&queue, LEASE, CallState::Taken, Some(state)).await;
                }
            }
            assert_change_after(&queue, RESULT_AGE, state, None).await;
        }
    }
}
