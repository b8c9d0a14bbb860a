//! A queue within one process.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use tokio::time::Instant;
use tool_runtime::{BoxFuture, definition::ContentHash};

use super::{
    CallQueue, CallState, LeaseState, NewCall, QueueEpoch, QueueLimits, QueuedCall, StartGrant, TakenCall,
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

    /// Changes the call of an epoch by `change`; `false` without a call.
    fn change_call(&self, id: &str, change: impl FnOnce(&mut StoredCall) -> bool) -> bool {
        self.lock().by_id.get_mut(id).is_some_and(change)
    }

    fn put_now(&self, new: NewCall) -> Result<bool, FleetError> {
        check_size(&new.request)?;
        let limits = self.0.limits;
        let mut calls = self.lock();
        if calls.by_id.contains_key(&new.id) {
            return Ok(false);
        }
        let stored = calls.by_id.values().filter(|it| !it.bytes.is_empty()).count();
        let bytes: u64 = calls.by_id.values().map(|it| it.record.call.bytes).sum();
        let totals = QueueTotals { calls: stored as u64, bytes };
        totals.check(&self.0.pool, limits, new.request.len())?;
        calls.last_number += 1;
        let (number, now) = (calls.last_number, Instant::now());
        let record = CallRecord::new(&new, SystemTime::now());
        let age_end = now + limits.call_age;
        let stored = StoredCall { number, record, bytes: new.request, lease_end: now, age_end };
        calls.by_id.insert(new.id, stored);
        Ok(true)
    }

    fn take_now(&self, keys: &[ContentHash], lease: Duration) -> Option<TakenCall> {
        let mut calls = self.lock();
        let now = Instant::now();
        let is_next = |it: &&mut StoredCall| {
            let QueuedCall { state, key, .. } = &it.record.call;
            *state == CallState::Queued && it.age_end > now && keys.contains(key)
        };
        let next = calls.by_id.values_mut().filter(is_next).min_by_key(|it| it.number)?;
        next.record.take(SystemTime::now());
        next.lease_end = now + lease;
        let QueuedCall { id, epoch, key, request, .. } = next.record.call.clone();
        Some(TakenCall { call: QueueEpoch { id, epoch, request }, key, request: next.bytes.clone() })
    }

    fn settle_now(&self) -> Vec<QueuedCall> {
        let (now, result_age) = (Instant::now(), self.0.limits.result_age);
        let is_removed = |_: &String, it: &mut StoredCall| {
            let settled = it.record.settle(it.lease_end <= now, it.age_end <= now, SystemTime::now());
            if settled == Settlement::Changed && it.record.call.state.is_ended() {
                it.age_end = now + result_age;
            }
            settled == Settlement::Removed
        };
        let removed: Vec<_> = self.lock().by_id.extract_if(is_removed).collect();
        removed.into_iter().map(|(_, it)| it.record.call).collect()
    }
}

/// The contents of a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueTotals {
    /// The calls with bytes.
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
}

impl QueueTotals {
    /// Returns an error if a call of `bytes` bytes exceeds a limit.
    pub(crate) fn check(self, pool: &str, limits: QueueLimits, bytes: usize) -> Result<(), FleetError> {
        let limit = if self.calls >= limits.calls as u64 {
            format!("{} calls", limits.calls)
        } else if self.bytes.saturating_add(bytes as u64) > limits.bytes {
            format!("{} bytes", limits.bytes)
        } else {
            return Ok(());
        };
        Err(FleetError::QueueFull { pool: pool.to_owned(), limit })
    }
}

fn check_size(bytes: &Bytes) -> Result<(), FleetError> {
    match bytes.len() {
        bytes if bytes > MAX_BYTES => Err(FleetError::TooLargeForQueue { bytes, limit: MAX_BYTES }),
        _ => Ok(()),
    }
}

impl CallQueue for MemoryCallQueue {
    fn pool(&self) -> &str {
        &self.0.pool
    }

    fn limits(&self) -> QueueLimits {
        self.0.limits
    }

    fn max_bytes(&self) -> usize {
        MAX_BYTES
    }

    fn put_call(&self, call: NewCall) -> BoxFuture<'_, Result<bool, FleetError>> {
        Box::pin(async { self.put_now(call) })
    }

    fn take_call<'a>(
        &'a self,
        keys: &'a [ContentHash],
        _: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<TakenCall>, FleetError>> {
        Box::pin(async move { Ok(self.take_now(keys, lease)) })
    }

    fn extend_lease<'a>(
        &'a self,
        call: &'a QueueEpoch,
        lease: Duration,
    ) -> BoxFuture<'a, Result<LeaseState, FleetError>> {
        Box::pin(async move {
            let mut state = LeaseState::Lost;
            self.change_call(&call.id, |it| {
                state = it.record.lease_state(call);
                if state != LeaseState::Lost {
                    it.lease_end = Instant::now() + lease;
                }
                true
            });
            Ok(state)
        })
    }

    fn start_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<StartGrant, FleetError>> {
        Box::pin(async move {
            let mut calls = self.lock();
            let stored = calls.by_id.get_mut(&call.id);
            Ok(stored.map_or(StartGrant::Refused, |it| it.record.start(call, SystemTime::now())))
        })
    }

    fn return_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<bool, FleetError>> {
        let give_back = |it: &mut StoredCall| it.record.give_back(call, SystemTime::now());
        Box::pin(async move { Ok(self.change_call(&call.id, give_back)) })
    }

    fn end_call<'a>(
        &'a self,
        call: &'a QueueEpoch,
        result: Bytes,
    ) -> BoxFuture<'a, Result<bool, FleetError>> {
        Box::pin(async move {
            check_size(&result)?;
            let age_end = Instant::now() + self.0.limits.result_age;
            Ok(self.change_call(&call.id, |it| {
                let is_finished = it.record.finish(call, result.len() as u64, SystemTime::now());
                if is_finished {
                    (it.bytes, it.age_end) = (result, age_end);
                }
                is_finished
            }))
        })
    }

    fn read_call<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(QueuedCall, Bytes)>, FleetError>> {
        Box::pin(
            async move { Ok(self.lock().by_id.get(id).map(|it| (it.record.call.clone(), it.bytes.clone()))) },
        )
    }

    fn remove_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, FleetError>> {
        Box::pin(async move {
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
        })
    }

    fn cancel_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<CallState>, FleetError>> {
        Box::pin(async move {
            let age_end = Instant::now() + self.0.limits.result_age;
            Ok(self.lock().by_id.get_mut(id).map(|it| {
                let state = it.record.call.state;
                if it.record.cancel(SystemTime::now()) && state == CallState::Queued {
                    it.age_end = age_end;
                }
                state
            }))
        })
    }

    fn list_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        Box::pin(async move {
            let calls = self.lock();
            let mut listed: Vec<_> =
                calls.by_id.values().filter(|it| states.contains(&it.record.call.state)).collect();
            listed.sort_unstable_by_key(|it| it.number);
            Ok(listed.into_iter().map(|it| it.record.call.clone()).collect())
        })
    }

    fn purge_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>> {
        Box::pin(async move {
            let is_chosen = |_: &String, it: &mut StoredCall| {
                let state = it.record.call.state;
                states.contains(&state) && !matches!(state, CallState::Taken | CallState::Started)
            };
            let removed: Vec<_> = self.lock().by_id.extract_if(is_chosen).collect();
            Ok(removed.into_iter().map(|(_, it)| it.record.call).collect())
        })
    }

    fn settle_calls(&self) -> BoxFuture<'_, Result<Vec<QueuedCall>, FleetError>> {
        Box::pin(async { Ok(self.settle_now()) })
    }
}

impl fmt::Debug for MemoryCallQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryCallQueue").field("pool", &self.0.pool).finish_non_exhaustive()
    }
}
