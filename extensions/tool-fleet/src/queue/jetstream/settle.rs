//! The effect of time on the records.

use std::time::{Duration, SystemTime};

use super::{
    super::{CallQueue as _, CallState, QueueLimits, QueuedCall, record::Settlement},
    entries::ViewEntry,
    queue::JetStreamCallQueue,
};
use crate::FleetError;

/// The time for which a removed record stays in the stream, so that all processes see it.
const REMOVED_AGE: Duration = Duration::from_secs(60);

impl JetStreamCallQueue {
    /// Returns `true` if the age of a queued or ended call is over.
    pub(super) fn is_old(&self, call: &QueuedCall) -> bool {
        let QueueLimits { call_age, result_age, .. } = self.limits();
        let (since, age) =
            if call.state.is_ended() { (call.changed, result_age) } else { (call.created, call_age) };
        SystemTime::now().duration_since(since).is_ok_and(|past| past >= age)
    }

    /// Returns the calls that were removed.
    pub(super) async fn settle_records(&self) -> Result<Vec<QueuedCall>, FleetError> {
        let mut removed = Vec::new();
        let view = &self.0.view;
        let may_change = |entry: &ViewEntry| {
            let call = &entry.record.call;
            let is_held = matches!(call.state, CallState::Taken | CallState::Started);
            entry.record.is_removed || self.is_old(call) || (is_held && view.is_lapsed(entry))
        };
        for entry in view.entries_where(may_change) {
            let id = &entry.record.call.id;
            if entry.record.is_removed {
                if entry.seen.elapsed() >= REMOVED_AGE {
                    // A call that is stored in its place meanwhile stays.
                    self.0.stream.purge_until(&self.record_subject(id), entry.sequence).await?;
                    view.forget_removed(id, entry.sequence);
                }
                continue;
            }
            let settled = self.settle_record(&entry).await;
            removed.extend(self.pass_over_altered(id, settled)?.flatten());
        }
        Ok(removed)
    }

    /// Returns the call if it was removed.
    async fn settle_record(&self, entry: &ViewEntry) -> Result<Option<QueuedCall>, FleetError> {
        let id = &entry.record.call.id;
        let mut record = entry.record.record();
        let is_lapsed = self.0.view.is_lapsed(entry);
        match record.settle(is_lapsed, self.is_old(&entry.record.call), SystemTime::now()) {
            Settlement::Unchanged => {}
            Settlement::Changed => {
                if !self.store_record(entry.record.with_record(record), entry.sequence).await? {
                    self.refresh_record(id).await?;
                }
            }
            Settlement::Removed => {
                return self.remove_record_if(id, |call| call.state.is_ended()).await;
            }
        }
        Ok(None)
    }
}
