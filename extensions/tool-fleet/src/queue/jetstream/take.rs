//! The calls that workers take.

use std::time::{Duration, SystemTime};

use tool_runtime::definition::ContentHash;

use super::{
    super::{CallState, QueueEpoch, QueuedCall, TakenCall, request_hash},
    entries::ViewEntry,
    queue::JetStreamCallQueue,
    record::StreamRecord,
};
use crate::FleetError;

/// The time in which the server answers a worker that takes a call, at least.
const MIN_ANSWER_TIME: Duration = Duration::from_secs(1);

impl JetStreamCallQueue {
    pub(super) async fn take_record(
        &self,
        keys: &[ContentHash],
        _: &str,
        lease: Duration,
    ) -> Result<Option<TakenCall>, FleetError> {
        self.return_lost_takes().await?;
        let mut tried: Option<ViewEntry> = None;
        let is_ready = |entry: &ViewEntry| !self.is_old(&entry.record.call);
        while let Some(entry) = self.0.view.next_queued(keys, tried.as_ref(), is_ready) {
            tried = Some(entry.clone());
            let mut record = entry.record.record();
            if !record.take(SystemTime::now()) {
                continue;
            }
            let taken = StreamRecord { lease, attempt: new_attempt()?, ..entry.record.with_record(record) };
            let (attempt, QueuedCall { id, epoch, key, request, .. }) = (taken.attempt, taken.call.clone());
            let call = QueueEpoch { id, epoch, request };
            if !self.store_taken(taken, entry.sequence, &call).await? {
                let refreshed = self.refresh_record(&call.id).await;
                self.pass_over_altered(&call.id, refreshed)?;
                continue;
            }
            // A request that is gone cannot be opened.
            let request = match self.0.stream.read_bytes(&self.request_subject(&call.id, request)).await {
                Ok(bytes) => bytes.unwrap_or_default(),
                Err(error) => {
                    if self.return_record(&call).await.is_err() {
                        self.0.lost_takes.note(&call, attempt);
                    }
                    return Err(error);
                }
            };
            // Of the bytes themselves: what the record says of them may be forged.
            let call = QueueEpoch { request: request_hash(&request), ..call };
            return Ok(Some(TakenCall { call, key, request }));
        }
        Ok(None)
    }

    /// Stores the record of a call that is taken; `false` if another one is in its place.
    ///
    /// # Errors
    ///
    /// Any error of the server. Later attempts of this process to take a call give this one back then, if it is taken.
    async fn store_taken(
        &self,
        taken: StreamRecord,
        expected: u64,
        call: &QueueEpoch,
    ) -> Result<bool, FleetError> {
        let attempt = taken.attempt;
        // Later, it would not be given back before the lease is over.
        let time = (taken.lease / 2).max(MIN_ANSWER_TIME);
        let stored = tokio::time::timeout(time, self.store_record(taken, expected)).await;
        let stored = stored.unwrap_or_else(|_| {
            Err(FleetError::Transport(format!(
                "JetStream did not answer within {time:?} as a call was taken"
            )))
        });
        if stored.is_err() {
            self.0.lost_takes.note(call, attempt);
        }
        stored
    }

    /// Gives back what this process has taken without knowing it, so that it counts no worker.
    async fn return_lost_takes(&self) -> Result<(), FleetError> {
        for (call, attempt) in self.0.lost_takes.all() {
            let returning = async {
                let found = self.refresh_record(&call.id).await?.map(|entry| entry.record);
                match found {
                    // By this process: others may have taken it in the same epoch.
                    Some(record) if record.attempt == attempt => {
                        self.return_record(&call).await.map(|_| true)
                    }
                    // It may be stored later.
                    Some(StreamRecord {
                        call: QueuedCall { state: CallState::Queued, epoch, .. }, ..
                    }) => Ok(epoch >= call.epoch),
                    _ => Ok(true),
                }
            };
            let returned = returning.await;
            if self.pass_over_altered(&call.id, returned)? != Some(false) {
                self.0.lost_takes.take(&call);
            }
        }
        Ok(())
    }
}

/// Returns a number that no other attempt of any process has.
fn new_attempt() -> Result<u64, FleetError> {
    getrandom::u64()
        .map_err(|error| FleetError::Unwritable(format!("no random numbers are available: {error}")))
}
