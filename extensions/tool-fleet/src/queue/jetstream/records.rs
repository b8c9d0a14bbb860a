//! Changes of records, each from the state that its process has seen.

use tool_runtime::definition::ContentHash;

use super::{
    super::{QueuedCall, record::CallRecord},
    entries::ViewEntry,
    queue::JetStreamCallQueue,
    record::StreamRecord,
    stream::StoredMessage,
};
use crate::FleetError;

/// The attempts of a change that others change, too.
pub(super) const MAX_CHANGES: usize = 64;

/// The effect of a change on a record.
pub(super) enum Change<T> {
    /// The record is not changed.
    Kept(T),
    Changed(StreamRecord, T),
}

impl JetStreamCallQueue {
    pub(super) fn subject(&self, rest: &str) -> String {
        format!("tools.{}.durable.{rest}", self.0.pool)
    }

    pub(super) fn record_subject(&self, id: &str) -> String {
        self.subject(&format!("calls.{id}"))
    }

    /// The subject of the request of a call. Another call under its id has another one, so that neither writes or removes the bytes of the other.
    pub(super) fn request_subject(&self, id: &str, request: ContentHash) -> String {
        self.subject(&format!("requests.{id}.{request}"))
    }

    /// The subject of a result of the call with this request.
    pub(super) fn result_subject(&self, id: &str, request: ContentHash, epoch: u32) -> String {
        self.subject(&format!("results.{id}.{request}.{epoch}"))
    }

    /// Stores a record in place of the one with the sequence `expected`; `false` if another one is there.
    pub(super) async fn store_record(&self, record: StreamRecord, expected: u64) -> Result<bool, FleetError> {
        let text = serde_json::to_vec(&record).map_err(|error| FleetError::Unwritable(error.to_string()))?;
        let subject = self.record_subject(&record.call.id);
        let Some(sequence) = self.0.stream.store(&subject, expected, text.into()).await? else {
            return Ok(false);
        };
        let StreamRecord { call, is_removed, .. } = &record;
        // An ended call that is removed took it at its end.
        if call.state.is_ended() != *is_removed && !call.was_started {
            self.take_start(call.request).await?;
        }
        self.0.view.note_record(sequence, record);
        Ok(true)
    }

    /// Reads the record of a call from the stream into the view, and returns it, also if the view has no room for it. One that cannot be read leaves
    /// the view: the call cannot be taken or changed.
    pub(super) async fn refresh_record(&self, id: &str) -> Result<Option<ViewEntry>, FleetError> {
        match self.0.stream.read(&self.record_subject(id)).await? {
            None => {
                self.0.view.remove_record(id);
                Ok(None)
            }
            Some(StoredMessage { sequence, body }) => match serde_json::from_slice::<StreamRecord>(&body) {
                Ok(record) if record.call.id == id => Ok(Some(self.0.view.note_record(sequence, record))),
                _ => {
                    self.0.view.forget_until(id, sequence);
                    Err(FleetError::Transport(format!("the stored call {id} was altered")))
                }
            },
        }
    }

    /// Passes over a call whose record cannot be read, with a warning: it holds up no other one. Other errors are returned.
    pub(super) fn pass_over_altered<T>(
        &self,
        id: &str,
        changed: Result<T, FleetError>,
    ) -> Result<Option<T>, FleetError> {
        match changed {
            Err(error) if self.0.view.entry(id).is_none() => {
                tracing::warn!(pool = self.0.pool, %error, "a call is passed over, since its record cannot be read");
                Ok(None)
            }
            changed => changed.map(Some),
        }
    }

    pub(super) async fn entry(&self, id: &str) -> Result<Option<ViewEntry>, FleetError> {
        if !is_call_id(id) {
            return Ok(None);
        }
        let entry = match self.0.view.entry(id) {
            None => self.refresh_record(id).await?,
            known => known,
        };
        Ok(entry.filter(|entry| !entry.record.is_removed))
    }

    /// Changes a record, and again if another process changed it meanwhile; `None` if there is none.
    pub(super) async fn change_record<T>(
        &self,
        id: &str,
        change: impl Fn(&ViewEntry) -> Change<T>,
    ) -> Result<Option<T>, FleetError> {
        for _ in 0..MAX_CHANGES {
            let Some(entry) = self.entry(id).await? else { return Ok(None) };
            match change(&entry) {
                Change::Kept(result) => return Ok(Some(result)),
                Change::Changed(record, result) => {
                    if self.store_record(record, entry.sequence).await? {
                        return Ok(Some(result));
                    }
                    self.refresh_record(id).await?;
                }
            }
        }
        Err(changed_by_others(id))
    }

    /// Changes a record of an epoch by `change`, which returns `false` if it does not apply.
    pub(super) async fn change_call(
        &self,
        id: &str,
        change: impl Fn(&mut CallRecord) -> bool,
    ) -> Result<bool, FleetError> {
        let change = |entry: &ViewEntry| {
            let mut record = entry.record.record();
            match change(&mut record) {
                true => Change::Changed(entry.record.with_record(record), true),
                false => Change::Kept(false),
            }
        };
        Ok(self.change_record(id, change).await?.unwrap_or(false))
    }

    /// Removes a record, and what belongs to it; returns the call as it was, or `None` if `is_chosen` does not choose it.
    pub(super) async fn remove_record_if(
        &self,
        id: &str,
        is_chosen: impl Fn(&QueuedCall) -> bool,
    ) -> Result<Option<QueuedCall>, FleetError> {
        let change = |entry: &ViewEntry| match is_chosen(&entry.record.call) {
            true => Change::Changed(
                StreamRecord { is_removed: true, ..entry.record.clone() },
                Some(entry.record.call.clone()),
            ),
            false => Change::Kept(None),
        };
        let removed = self.change_record(id, change).await?.flatten();
        if let Some(QueuedCall { request, epoch, .. }) = removed {
            self.0.stream.purge(&self.request_subject(id, request)).await?;
            self.0.stream.purge(&self.result_subject(id, request, epoch)).await?;
        }
        Ok(removed)
    }
}

/// Returns `true` for a part of a subject without wildcards.
pub(super) fn is_call_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.chars().all(|it| it.is_ascii_alphanumeric() || it == '-')
}

pub(super) fn changed_by_others(id: &str) -> FleetError {
    FleetError::Transport(format!("the call {id} was changed by others each time; try again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_calls_are_parts_of_a_subject() {
        for id in ["a", "a-1", "09AZaz-", &"x".repeat(64)] {
            assert!(is_call_id(id), "{id}");
        }
        for id in ["", "a.b", "*", ">", "a b", "a_1", "ä", &"x".repeat(65)] {
            assert!(!is_call_id(id), "{id}");
        }
    }
}
