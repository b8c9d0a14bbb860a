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

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::{NewCall, queue::record::CallRecord};

    fn key(name: &str) -> ContentHash {
        ContentHash::of(name)
    }

    /// An entry of a queued call of the tool `tool`, whose request has 100 bytes.
    fn entry(id: &str, number: u64) -> ViewEntry {
        let new =
            NewCall { id: id.to_owned(), key: key("tool"), max_workers: 3, request: vec![7; 100].into() };
        let CallRecord { call, max_workers } = CallRecord::new(&new, SystemTime::UNIX_EPOCH);
        let record =
            StreamRecord { call, max_workers, number, lease: Duration::ZERO, attempt: 0, is_removed: false };
        ViewEntry { sequence: number, record, seen: Instant::now() }
    }

    fn in_state(state: CallState, mut entry: ViewEntry) -> ViewEntry {
        entry.record.call.state = state;
        entry
    }

    fn removed(mut entry: ViewEntry) -> ViewEntry {
        entry.record.is_removed = true;
        entry
    }

    /// The numbers of calls and of removed ones, and the totals.
    fn counts(entries: &ViewEntries) -> (usize, usize, u64, u64) {
        let QueueTotals { calls, bytes } = entries.totals();
        (entries.len(), entries.removed_len(), calls, bytes)
    }

    fn queued_ids(entries: &ViewEntries) -> Vec<String> {
        let (mut ids, mut after) = (Vec::new(), None);
        while let Some(entry) = entries.next_queued(&[key("tool")], after.as_ref(), |_| true) {
            ids.push(entry.record.call.id.clone());
            after = Some(entry.clone());
        }
        ids
    }

    #[test]
    fn an_entry_takes_the_place_of_the_one_before() {
        let mut entries = ViewEntries::default();
        entries.insert(entry("b", 2));
        entries.insert(entry("a", 1));
        assert_eq!(
            (counts(&entries), queued_ids(&entries)),
            ((2, 0, 2, 200), vec!["a".to_owned(), "b".to_owned()])
        );
        entries.insert(in_state(CallState::Taken, entry("a", 1)));
        assert_eq!((counts(&entries), queued_ids(&entries)), ((2, 0, 2, 200), vec!["b".to_owned()]));
        let mut finished = in_state(CallState::Finished, entry("a", 1));
        finished.record.call.bytes = 0;
        entries.insert(finished);
        assert_eq!(counts(&entries), (2, 0, 1, 100));
        entries.insert(removed(entry("a", 1)));
        assert_eq!((counts(&entries), queued_ids(&entries)), ((1, 1, 1, 100), vec!["b".to_owned()]));
        // The call is stored again.
        entries.insert(entry("a", 3));
        assert_eq!(
            (counts(&entries), queued_ids(&entries)),
            ((2, 0, 2, 200), vec!["b".to_owned(), "a".to_owned()])
        );
    }

    #[test]
    fn an_entry_that_is_removed_leaves_nothing() {
        let mut entries = ViewEntries::default();
        for (id, number) in [("a", 1), ("b", 2), ("c", 3)] {
            entries.insert(entry(id, number));
        }
        entries.insert(removed(entry("d", 4)));
        entries.remove("other");
        assert_eq!(counts(&entries), (3, 1, 3, 300));
        entries.remove("a");
        assert!(entries.entry("a").is_none() && entries.entry("b").is_some());
        assert_eq!(
            (counts(&entries), queued_ids(&entries)),
            ((2, 1, 2, 200), vec!["b".to_owned(), "c".to_owned()])
        );
        entries.remove("d");
        assert_eq!(counts(&entries), (2, 0, 2, 200));
        entries.retain(|entry| entry.record.call.id == "c");
        assert_eq!((counts(&entries), queued_ids(&entries)), ((1, 0, 1, 100), vec!["c".to_owned()]));
        assert_eq!(entries.iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn the_next_queued_call_is_ready_and_of_one_of_the_keys() {
        let mut entries = ViewEntries::default();
        for (id, number) in [("a", 1), ("b", 2)] {
            entries.insert(entry(id, number));
        }
        let next = |keys: &[ContentHash], ready: &str| {
            let is_ready = |entry: &ViewEntry| entry.record.call.id == ready;
            entries.next_queued(keys, None, is_ready).map(|entry| entry.record.call.id.clone())
        };
        assert_eq!(next(&[key("other"), key("tool")], "b").as_deref(), Some("b"));
        assert_eq!(next(&[key("other")], "b"), None);
        assert_eq!(next(&[key("tool")], "c"), None);
    }
}
