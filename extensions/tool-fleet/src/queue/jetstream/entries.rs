//! The records of a view, and what is known of them together.

use std::collections::HashMap;

use tokio::time::Instant;
use tool_runtime::definition::ContentHash;

use super::record::StreamRecord;
use crate::queue::{CallState, limits::QueueTotals, queued_calls::QueuedCalls};

/// A record at a sequence of its stream.
#[derive(Clone)]
pub(super) struct ViewEntry {
    pub(super) sequence: u64,
    pub(super) record: StreamRecord,
    /// The time at which this process first saw it: leases end by the clocks of those that look at them.
    pub(super) seen: Instant,
}

/// The records, by the ids of their calls.
#[derive(Default)]
pub(super) struct ViewEntries {
    by_id: HashMap<String, ViewEntry>,
    queued: QueuedCalls,
    /// The contents, for the limits of the queue.
    totals: QueueTotals,
    removed: usize,
}

impl ViewEntries {
    /// The number of calls that were not removed.
    pub(super) fn len(&self) -> usize {
        self.by_id.len() - self.removed
    }

    /// The number of calls that were removed, and whose records are kept for a while.
    pub(super) fn removed_len(&self) -> usize {
        self.removed
    }

    pub(super) fn totals(&self) -> QueueTotals {
        self.totals
    }

    pub(super) fn entry(&self, id: &str) -> Option<&ViewEntry> {
        self.by_id.get(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ViewEntry> {
        self.by_id.values()
    }

    pub(super) fn next_queued(
        &self,
        keys: &[ContentHash],
        after: Option<&ViewEntry>,
        is_ready: impl Fn(&ViewEntry) -> bool,
    ) -> Option<&ViewEntry> {
        let after = after.map(|entry| (entry.record.number, entry.record.call.id.clone()));
        let is_ready = |id: &str| self.entry(id).is_some_and(&is_ready);
        let (_, id) = self.queued.next_after(keys, after.as_ref(), is_ready)?;
        self.entry(id)
    }

    /// Inserts an entry in place of an earlier one of its call.
    pub(super) fn insert(&mut self, entry: ViewEntry) {
        let id = entry.record.call.id.clone();
        self.remove(&id);
        let StreamRecord { call, number, is_removed, .. } = &entry.record;
        if *is_removed {
            self.removed += 1;
        } else {
            self.totals.add_call(call.bytes);
            if call.state == CallState::Queued {
                self.queued.insert(call.key, *number, &id);
            }
        }
        self.by_id.insert(id, entry);
    }

    pub(super) fn remove(&mut self, id: &str) {
        let Some(removed) = self.by_id.remove(id) else { return };
        let StreamRecord { call, number, is_removed, .. } = removed.record;
        if is_removed {
            self.removed -= 1;
        } else {
            self.totals.remove_call(call.bytes);
            if call.state == CallState::Queued {
                self.queued.remove(call.key, number, id);
            }
        }
    }

    pub(super) fn retain(&mut self, is_kept: impl Fn(&ViewEntry) -> bool) {
        let removed = self.iter().filter(|entry| !is_kept(entry)).map(|entry| entry.record.call.id.clone());
        for id in removed.collect::<Vec<_>>() {
            self.remove(&id);
        }
    }
}
