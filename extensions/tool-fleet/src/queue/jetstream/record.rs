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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wire() -> Value {
        json!({
            "id": "a-1", "key": ContentHash::of("tool"), "request": ContentHash::of("request"), "state": "started",
            "epoch": 2, "workers": 1, "maxWorkers": 3, "wasStarted": true, "cancelRequested": false, "createdMs": 1_000,
            "changedMs": 2_000, "bytes": 100, "number": 7, "leaseMs": 6_000, "attempt": 9, "isRemoved": false,
        })
    }

    #[test]
    fn a_record_is_written_as_it_is_read() {
        let record: StreamRecord = serde_json::from_value(wire()).unwrap();
        assert_eq!(serde_json::to_value(&record).unwrap(), wire());
        let time = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let call = QueuedCall {
            id: "a-1".to_owned(),
            key: ContentHash::of("tool"),
            request: ContentHash::of("request"),
            state: CallState::Started,
            epoch: 2,
            workers: 1,
            was_started: true,
            cancel_requested: false,
            created: time(1),
            changed: time(2),
            bytes: 100,
        };
        assert_eq!(record.record(), CallRecord { call, max_workers: 3 });
        let StreamRecord { number, lease, attempt, is_removed, .. } = record;
        assert_eq!((number, lease, attempt, is_removed), (7, Duration::from_secs(6), 9, false));
    }

    #[test]
    fn other_flags_are_written_too() {
        let mut other = wire();
        for (member, value) in [("wasStarted", false), ("cancelRequested", true), ("isRemoved", true)] {
            other[member] = value.into();
        }
        let record: StreamRecord = serde_json::from_value(other.clone()).unwrap();
        assert_eq!(serde_json::to_value(&record).unwrap(), other);
    }

    #[test]
    fn a_record_of_an_unknown_state_is_not_read() {
        let mut other = wire();
        other["state"] = "other".into();
        assert!(serde_json::from_value::<StreamRecord>(other).is_err());
    }

    /// As those that were written before attempts had numbers.
    #[test]
    fn a_record_without_an_attempt_is_read() {
        let mut other = wire();
        other.as_object_mut().unwrap().remove("attempt");
        assert_eq!(serde_json::from_value::<StreamRecord>(other).unwrap().attempt, 0);
    }

    #[test]
    fn another_call_leaves_the_parts_of_the_stream() {
        let record: StreamRecord = serde_json::from_value(wire()).unwrap();
        let mut changed = record.record();
        changed.call.state = CallState::Finished;
        let mut expected = wire();
        expected["state"] = "finished".into();
        assert_eq!(serde_json::to_value(record.with_record(changed)).unwrap(), expected);
    }
}
