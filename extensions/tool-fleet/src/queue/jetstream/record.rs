//! The record of a call as a message.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use tool_runtime::definition::ContentHash;

use super::super::{CallState, QueuedCall, record::CallRecord};

/// A record of a stream.
#[derive(Debug, Clone)]
pub(super) struct StreamRecord {
    pub(super) call: QueuedCall,
    pub(super) max_workers: u32,
    /// Gives the order of the calls: the sequence of their requests.
    pub(super) number: u64,
    /// The time without a change after which the lease is over.
    pub(super) lease: Duration,
    /// The attempt that took the call last, by a number that no other one has.
    pub(super) attempt: u64,
    /// The call was removed. The message remains for a while, so that all processes see it.
    pub(super) is_removed: bool,
}

impl StreamRecord {
    pub(super) fn record(&self) -> CallRecord {
        CallRecord { call: self.call.clone(), max_workers: self.max_workers }
    }

    pub(super) fn with_record(&self, CallRecord { call, .. }: CallRecord) -> Self {
        Self { call, ..self.clone() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    id: String,
    key: ContentHash,
    request: ContentHash,
    state: String,
    epoch: u32,
    workers: u32,
    max_workers: u32,
    was_started: bool,
    cancel_requested: bool,
    created_ms: u64,
    changed_ms: u64,
    bytes: u64,
    number: u64,
    lease_ms: u64,
    #[serde(default)]
    attempt: u64,
    is_removed: bool,
}

fn millis_at(time: SystemTime) -> u64 {
    millis_of(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn millis_of(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn time_at(millis: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis))
}

impl Serialize for StreamRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let QueuedCall { id, key, request, state, epoch, workers, was_started, cancel_requested, .. } =
            self.call.clone();
        let wire = Wire {
            id,
            key,
            request,
            state: state.name().to_owned(),
            epoch,
            workers,
            max_workers: self.max_workers,
            was_started,
            cancel_requested,
            created_ms: millis_at(self.call.created),
            changed_ms: millis_at(self.call.changed),
            bytes: self.call.bytes,
            number: self.number,
            lease_ms: millis_of(self.lease),
            attempt: self.attempt,
            is_removed: self.is_removed,
        };
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StreamRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let state = CallState::of_name(&wire.state).ok_or_else(|| D::Error::custom("an unknown state"))?;
        let time = |millis| time_at(millis).ok_or_else(|| D::Error::custom("an invalid time"));
        let call = QueuedCall {
            id: wire.id,
            key: wire.key,
            request: wire.request,
            state,
            epoch: wire.epoch,
            workers: wire.workers,
            was_started: wire.was_started,
            cancel_requested: wire.cancel_requested,
            created: time(wire.created_ms)?,
            changed: time(wire.changed_ms)?,
            bytes: wire.bytes,
        };
        let lease = Duration::from_millis(wire.lease_ms);
        let Wire { max_workers, number, attempt, is_removed, .. } = wire;
        Ok(Self { call, max_workers, number, lease, attempt, is_removed })
    }
}
