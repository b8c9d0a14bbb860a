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

/// The removals of one settlement, each of which takes requests to the server. Others wait for the next one, but for a part of a long list, which does not
/// grow without an end.
const MAX_REMOVALS: usize = 256;
const LONG_LIST_PART: usize = 16;

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
            match entry.record.is_removed {
                true => entry.seen.elapsed() >= REMOVED_AGE,
                false => self.is_old(call) || (is_held && view.is_lapsed(entry)),
            }
        };
        let entries = view.entries_where(may_change);
        let mut removals_left = MAX_REMOVALS.max(entries.len() / LONG_LIST_PART);
        for entry in entries {
            let call = &entry.record.call;
            let is_removal = entry.record.is_removed || call.state.is_ended();
            if is_removal && removals_left == 0 {
                continue;
            }
            removals_left -= usize::from(is_removal);
            if entry.record.is_removed {
                // A call that is stored in its place meanwhile stays.
                self.0.stream.purge_until(&self.record_subject(&call.id), entry.sequence).await?;
                view.forget_removed(&call.id, entry.sequence);
                continue;
            }
            let settled = self.settle_record(&entry).await;
            removed.extend(self.pass_over_altered(&call.id, settled)?.flatten());
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
