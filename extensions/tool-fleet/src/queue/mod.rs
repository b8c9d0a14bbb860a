//! Calls that wait for a worker, and results that wait for their caller.
//!
//! A queue keeps one record for each call of a pool: its key (the hash of a definition), its state, and sealed bytes that it does not read. Each
//! operation changes one record, and only from the state that it expects: of several workers, one has a call, and the start of a body with
//! effects is given once. Each time that a worker takes a call, its epoch grows; what a worker of an earlier epoch says is refused, and what
//! one says of another request under the same id, which was stored before.
//!
//! | state | meaning | leaves it by |
//! | --- | --- | --- |
//! | queued | waits for a worker | `take_call`, `cancel_call`, its age |
//! | taken | a worker has it until the end of its lease; the body runs only if a repetition does no more | `start_call`, `end_call`, `return_call`; the end of the lease: queued again, or interrupted after the last worker |
//! | started | the start of a body with effects was given | `end_call`; the end of the lease: interrupted |
//! | finished, interrupted, cancelled, expired | the end, until it is removed or too old | `remove_call`, `purge_calls`, its age |

mod backlog;
mod engine;
#[cfg(feature = "nats")]
mod jetstream;
mod limits;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "nats")]
mod queued_calls;
mod record;
mod sealed;
mod shared;
mod values;

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::Serialize;
use tool_runtime::{BoxFuture, definition::ContentHash};

#[cfg(feature = "nats")]
pub use self::jetstream::JetStreamCallQueue;
#[cfg(feature = "postgres")]
pub use self::postgres::PostgresCallQueue;
pub use self::{backlog::QueueBacklog, memory::MemoryCallQueue};
pub(crate) use self::{
    limits::SMALL_RESULT_BYTES,
    sealed::{CallEnd, CallSeal, SealedContents, StoredRequest, call_id, id_prefix},
    values::{delete_values, delete_values_of, request_value_name, result_value_name, value_names},
};
use crate::FleetError;

/// Keeps the durable calls of one pool: see [`DurableCalls`](crate::DurableCalls) for callers, and [`Worker::queue`](crate::Worker::queue).
///
/// A queue stores bytes that it cannot read, and knows no tools. It must not lose a record that it has acknowledged, as far as its
/// storage keeps what it has written, and must change a record only from the state and epoch that an operation names. Operations may be repeated after a failure.
///
/// Engines: [`MemoryCallQueue`] for one process, `PostgresCallQueue` (feature `postgres`) and `JetStreamCallQueue` (feature `nats`).
pub trait CallQueue: Send + Sync + 'static {
    /// Returns the name of the pool.
    fn pool(&self) -> &str;

    /// Returns the limits of the queue.
    fn limits(&self) -> QueueLimits;

    /// Returns the maximum size of the bytes of a call or result.
    fn max_bytes(&self) -> usize;

    /// Stores a call as queued; `false` if another call with its id exists, which stays as it is. One that was stored by an earlier attempt, with the same
    /// request, is no other one.
    ///
    /// # Errors
    ///
    /// [`FleetError::QueueFull`] if a limit would be exceeded, [`FleetError::TooLargeForQueue`] if its bytes are, and any error of the storage.
    fn put_call(&self, call: NewCall) -> BoxFuture<'_, Result<bool, FleetError>>;

    /// Takes the oldest queued call of one of `keys` for `worker`, which has it for `lease`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn take_call<'a>(
        &'a self,
        keys: &'a [ContentHash],
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<TakenCall>, FleetError>>;

    /// Extends the lease of a call that is taken or started in this epoch, to `lease` from now.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn extend_lease<'a>(
        &'a self,
        call: &'a QueueEpoch,
        lease: Duration,
    ) -> BoxFuture<'a, Result<LeaseState, FleetError>>;

    /// Gives the start of a call that is taken in this epoch, unless it has ended, was taken by another worker, or is to be cancelled. Once it
    /// is given, no other worker takes the call.
    ///
    /// # Errors
    ///
    /// Any error of the storage. The start may have been given then: the body must not run unless the worker asks again, and it is given.
    fn start_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<StartGrant, FleetError>>;

    /// Queues a call again that is taken in this epoch and was not started, as if its worker had not taken it; `false` if it is not.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn return_call<'a>(&'a self, call: &'a QueueEpoch) -> BoxFuture<'a, Result<bool, FleetError>>;

    /// Stores the result of a call that is taken or started in this epoch in place of its request; `false` if it is neither.
    ///
    /// # Errors
    ///
    /// [`FleetError::TooLargeForQueue`], [`FleetError::QueueFull`] if it is larger than the request and exceeds the limit of bytes, and any error of the storage.
    fn end_call<'a>(&'a self, call: &'a QueueEpoch, result: Bytes)
    -> BoxFuture<'a, Result<bool, FleetError>>;

    /// Returns a call with its bytes: the result of a finished call, and the request of any other one; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn read_call<'a>(&'a self, id: &'a str)
    -> BoxFuture<'a, Result<Option<(QueuedCall, Bytes)>, FleetError>>;

    /// Returns a call without its bytes; `None` if there is none. Each caller that waits looks at its own call twice a second. Default: by
    /// [`read_call`](Self::read_call), which also reads the bytes.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn find_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<QueuedCall>, FleetError>> {
        Box::pin(async move { Ok(self.read_call(id).await?.map(|(call, _)| call)) })
    }

    /// Removes a call that has ended; `false` if there is none. An interrupted call stays in the list without its bytes.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn remove_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, FleetError>>;

    /// Cancels a call: a queued one ends as cancelled, a taken one is cancelled by its worker, a started one runs to its end. Returns the state
    /// in which it was; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn cancel_call<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<CallState>, FleetError>>;

    /// Returns the calls in one of `states`, the oldest first.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn list_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>>;

    /// Removes all calls in one of `states`, and returns them as they were. Taken and started calls stay.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn purge_calls<'a>(
        &'a self,
        states: &'a [CallState],
    ) -> BoxFuture<'a, Result<Vec<QueuedCall>, FleetError>>;

    /// Settles what time has changed:
    ///
    /// - calls whose leases are over end, or are queued again
    /// - queued calls that are too old end as expired
    /// - calls that have ended and are too old are removed
    ///
    /// Returns the calls that this process has removed, as they were. Each worker, and one of the waiting callers of a process, call it regularly.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn settle_calls(&self) -> BoxFuture<'_, Result<Vec<QueuedCall>, FleetError>>;

    /// Returns the number of queued calls and the age of the oldest one, for metrics: each worker of the queue reads it regularly. Default: by
    /// [`list_calls`](Self::list_calls), for queues that have the calls in memory.
    ///
    /// # Errors
    ///
    /// Any error of the storage.
    fn read_backlog(&self) -> BoxFuture<'_, Result<QueueBacklog, FleetError>> {
        Box::pin(async {
            let queued = self.list_calls(&[CallState::Queued]).await?;
            Ok(QueueBacklog::of_calls(&queued))
        })
    }
}

/// An operation of a queue.
type Operation<'a, T> = BoxFuture<'a, Result<T, FleetError>>;

/// The limits of a [`CallQueue`]. Workers and callers of one pool have the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// The maximum number of calls, those with a result included; interrupted ones that were answered do not count. The caller that stores a call
    /// checks it: callers that do so at the same moment may exceed it by their calls. 0 refuses all. Over JetStream, a process has at most four times
    /// as many records, and 1,024, in memory, and leaves out further ones with a warning. Default: 10,000.
    pub calls: usize,
    /// The maximum number of bytes of all requests and results. The caller that stores a call checks it, and the worker that stores a result: one that is not
    /// larger than its request, or has at most 4 KiB, is stored in any case. Default: 1 GiB.
    pub bytes: u64,
    /// The time since a call was stored after which it ends as expired, unless a worker has it. Over JetStream the one of each process that looks,
    /// over Postgres the one of the caller that stored it. At least 1 ms, and at most 30 days. Default: 24 h.
    pub call_age: Duration,
    /// The time for which a result, or another end, is kept. Over JetStream the one of each process that looks, over Postgres the one of the process
    /// that ended the call. At least 1 ms, and at most 30 days. Default: 24 h.
    pub result_age: Duration,
}

impl QueueLimits {
    /// The greatest age of a call or result.
    pub(crate) const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

    /// Returns the limits with ages within their ranges.
    pub(crate) fn clamped(self) -> Self {
        let clamp = |age: Duration| age.clamp(Duration::from_millis(1), Self::MAX_AGE);
        Self { call_age: clamp(self.call_age), result_age: clamp(self.result_age), ..self }
    }
}

impl Default for QueueLimits {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self { calls: 10_000, bytes: 1 << 30, call_age: day, result_age: day }
    }
}

/// A call to be queued.
#[derive(Debug, Clone)]
pub struct NewCall {
    /// Its id in the pool: at most 64 letters, digits and `-`.
    pub id: String,
    /// The hash of its definition.
    pub key: ContentHash,
    /// The number of workers that take it at most, if they end during it.
    pub max_workers: u32,
    /// The sealed request.
    pub request: Bytes,
}

impl NewCall {
    /// Returns the hash that no other request has: of its nonce, and the first encrypted bytes.
    #[must_use]
    pub fn request_hash(&self) -> ContentHash {
        request_hash(&self.request)
    }
}

pub(crate) fn request_hash(request: &[u8]) -> ContentHash {
    ContentHash::of(request.get(..64).unwrap_or(request))
}

/// A call and the number of times that it was taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueueEpoch {
    /// The id of the call.
    pub id: String,
    /// The [hash](NewCall::request_hash) of its request: a call that was removed and stored again under its id has another one.
    pub request: ContentHash,
    /// Grows each time that a worker takes the call.
    pub epoch: u32,
}

/// A call that a worker has taken.
#[derive(Debug, Clone)]
pub struct TakenCall {
    /// The call, in the epoch of its worker.
    pub call: QueueEpoch,
    /// The hash of its definition.
    pub key: ContentHash,
    /// The sealed request.
    pub request: Bytes,
}

/// The start of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartGrant {
    /// The body may run.
    Given,
    /// The call has ended, is to be cancelled, or another worker has it.
    Refused,
    /// The start of this request was given before, or its end was noted, although the record does not say so: it was changed by a client of the
    /// broker. The body may have run.
    GivenBefore,
}

/// The lease of a call, as its worker learns when it extends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// The worker has the call.
    Held,
    /// The worker has the call, and is to cancel it.
    CancelRequested,
    /// The call has ended, or another worker has it.
    Lost,
}

/// The state of a call in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CallState {
    /// It waits for a worker.
    Queued,
    /// A worker has it; the start of a body with effects was not given.
    Taken,
    /// A worker has obtained the start of a body with effects.
    Started,
    /// It has a result.
    Finished,
    /// Its workers ended during it.
    Interrupted,
    /// It was cancelled, and has no result. A body without effects may have begun.
    Cancelled,
    /// No worker had it when its age was over. If none took it before, nothing was executed.
    Expired,
}

impl CallState {
    /// The states of calls that have ended.
    pub const ENDED: [Self; 4] = [Self::Finished, Self::Interrupted, Self::Cancelled, Self::Expired];

    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Taken,
        Self::Started,
        Self::Finished,
        Self::Interrupted,
        Self::Cancelled,
        Self::Expired,
    ];

    /// Returns `true` for a call that has ended.
    #[must_use]
    pub fn is_ended(self) -> bool {
        Self::ENDED.contains(&self)
    }

    /// Returns the name of the state, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Taken => "taken",
            Self::Started => "started",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    #[cfg(any(feature = "nats", feature = "postgres"))]
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A call of a queue, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedCall {
    /// Its id in the pool.
    pub id: String,
    /// The hash of its definition.
    pub key: ContentHash,
    /// The [hash](NewCall::request_hash) of its request.
    pub request: ContentHash,
    /// Its state.
    pub state: CallState,
    /// The number of times that a worker took it.
    pub epoch: u32,
    /// The number of workers that took it, and did not return it.
    pub workers: u32,
    /// The body of a tool with effects was started.
    pub was_started: bool,
    /// Its worker is to cancel it.
    pub cancel_requested: bool,
    /// The time at which it was stored.
    pub created: SystemTime,
    /// The time of its last change of state.
    pub changed: SystemTime,
    /// The size of its request or result, in bytes; 0 once an interrupted call was answered.
    pub bytes: u64,
}

#[cfg(test)]
mod tests;
