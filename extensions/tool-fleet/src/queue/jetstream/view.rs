//! The records of a stream, as a process sees them: one task reads the last message of each subject, and then each change.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_nats::Message;
use futures_util::StreamExt as _;
use tokio::{sync::watch, time::Instant};
use tool_runtime::definition::ContentHash;

use super::{
    entries::{ViewEntries, ViewEntry},
    record::StreamRecord,
    stream::{HEARTBEAT, Stream},
};
use crate::{FleetError, queue::limits::QueueTotals};

/// The records left out for each warning.
const WARNING_INTERVAL: u64 = 10_000;

/// The header of a heartbeat with the number of the last message that was sent.
const LAST_DELIVERED: &str = "Nats-Last-Consumer";

/// The pause before a watch is begun again.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// The records, by the ids of their calls.
pub(super) struct View {
    /// The records that are kept, and those of removed calls: a client of the broker can store any number.
    max_entries: usize,
    /// The records that were left out.
    left_out: AtomicU64,
    entries: Mutex<ViewEntries>,
    progress: watch::Sender<ReadProgress>,
    contact: Mutex<Contact>,
}

/// The progress of the first reading of the stream.
enum ReadProgress {
    /// With the reason why the last attempt failed.
    Reading(Option<String>),
    Complete,
}

/// The signs of life of the server.
struct Contact {
    last: Instant,
    /// The time since which they come without a gap.
    since: Instant,
}

/// The time without a sign of life after which leases do not end: their workers may not reach the server, either.
const MAX_SILENCE: Duration = Duration::from_secs(4);

impl View {
    pub(super) fn new(max_calls: usize) -> Arc<Self> {
        let now = Instant::now();
        let contact = Mutex::new(Contact { last: now, since: now });
        Arc::new(Self {
            // Those that were interrupted are among them.
            max_entries: max_calls.saturating_mul(4).saturating_add(1024),
            left_out: AtomicU64::new(0),
            entries: Mutex::default(),
            progress: watch::Sender::new(ReadProgress::Reading(None)),
            contact,
        })
    }

    fn lock(&self) -> MutexGuard<'_, ViewEntries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the records of the stream were read.
    ///
    /// # Errors
    ///
    /// If they are not within `timeout`.
    pub(super) async fn wait_until_complete(&self, timeout: Duration) -> Result<(), FleetError> {
        let mut progress = self.progress.subscribe();
        let is_complete = |it: &ReadProgress| matches!(it, ReadProgress::Complete);
        let waited =
            tokio::time::timeout(timeout, progress.wait_for(is_complete)).await.is_ok_and(|it| it.is_ok());
        if waited {
            return Ok(());
        }
        let reason = match &*self.progress.borrow() {
            ReadProgress::Reading(Some(error)) => format!(": {error}"),
            _ => String::new(),
        };
        Err(FleetError::Transport(format!(
            "JetStream did not send the stored calls within {timeout:?}{reason}; try again"
        )))
    }

    pub(super) fn entry(&self, id: &str) -> Option<ViewEntry> {
        self.lock().entry(id).cloned()
    }

    pub(super) fn entries_where(&self, is_chosen: impl Fn(&ViewEntry) -> bool) -> Vec<ViewEntry> {
        self.lock().iter().filter(|entry| is_chosen(entry)).cloned().collect()
    }

    /// Returns the queued call of one of `keys` that was stored first, of those after the call `after` that are ready.
    pub(super) fn next_queued(
        &self,
        keys: &[ContentHash],
        after: Option<&ViewEntry>,
        is_ready: impl Fn(&ViewEntry) -> bool,
    ) -> Option<ViewEntry> {
        self.lock().next_queued(keys, after, is_ready).cloned()
    }

    /// Returns what counts against the limits of the queue.
    pub(super) fn totals(&self) -> QueueTotals {
        self.lock().totals()
    }

    /// Notes the record of a call, unless a later one is known; returns the later one. Without room, it is left out.
    pub(super) fn note_record(&self, sequence: u64, record: StreamRecord) -> ViewEntry {
        let noted = ViewEntry { sequence, record, seen: Instant::now() };
        let mut entries = self.lock();
        let known = entries.entry(&noted.record.call.id);
        if let Some(later) = known.filter(|known| known.sequence >= sequence) {
            return later.clone();
        }
        if noted.record.is_removed && entries.removed_len() >= self.max_entries {
            // It tells the same as one that is not there: others have it removed from the stream.
            entries.remove(&noted.record.call.id);
        } else if noted.record.is_removed
            || known.is_some_and(|it| !it.record.is_removed)
            || entries.len() < self.max_entries
        {
            entries.insert(noted.clone());
        } else {
            entries.remove(&noted.record.call.id);
            drop(entries);
            let left_out = self.left_out.fetch_add(1, Ordering::Relaxed);
            if left_out.is_multiple_of(WARNING_INTERVAL) {
                tracing::warn!(
                    max = self.max_entries,
                    "the queue has more records than it may, and further ones are left out; raise `QueueLimits::calls` of this process"
                );
            }
        }
        noted
    }

    /// Returns `true` if the lease of the record is over: it was the same for as long, while the server was there.
    pub(super) fn is_lapsed(&self, entry: &ViewEntry) -> bool {
        let contact = self.lock_contact();
        contact.last.elapsed() < MAX_SILENCE && entry.seen.max(contact.since).elapsed() >= entry.record.lease
    }

    fn lock_contact(&self) -> MutexGuard<'_, Contact> {
        self.contact.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_contact(&self) {
        let mut contact = self.lock_contact();
        let now = Instant::now();
        if contact.last.elapsed() >= MAX_SILENCE {
            contact.since = now;
        }
        contact.last = now;
    }

    /// Removes the records that are no longer in the stream, once all were read since `start`.
    fn complete(&self, read: &HashSet<String>, start: Instant) {
        self.lock().retain(|entry| entry.seen >= start || read.contains(&entry.record.call.id));
        self.progress.send_replace(ReadProgress::Complete);
    }

    /// Forgets the records of a stream that no longer exists: those of one that was made in its place have lower sequences.
    fn forget_records(&self) {
        *self.lock() = ViewEntries::default();
    }

    pub(super) fn remove_record(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Forgets the record of a call, unless a later one than that with the sequence `last` is known.
    pub(super) fn forget_until(&self, id: &str, last: u64) {
        let mut entries = self.lock();
        if entries.entry(id).is_some_and(|entry| entry.sequence <= last) {
            entries.remove(id);
        }
    }

    /// Forgets the record of a call that was removed, unless another one is in its place.
    pub(super) fn forget_removed(&self, id: &str, sequence: u64) {
        let mut entries = self.lock();
        if entries.entry(id).is_some_and(|entry| entry.sequence == sequence) {
            entries.remove(id);
        }
    }

    /// Reads until the task is aborted. After a failure, or when a message is missing, all records are read again.
    pub(super) async fn read(self: Arc<Self>, stream: Stream, filter: String) {
        let mut created = None;
        loop {
            let error = self.read_until_error(&stream, &filter, &mut created).await;
            self.progress.send_if_modified(|progress| {
                if let ReadProgress::Reading(problem) = progress {
                    *problem = Some(error.to_string());
                }
                false
            });
            tracing::warn!(%error, stream = stream.name, "the stored calls cannot be read; trying again");
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// `created` is the time at which the stream was made that was read before.
    async fn read_until_error(
        &self,
        stream: &Stream,
        filter: &str,
        created: &mut Option<String>,
    ) -> FleetError {
        let lost = |problem: &str| FleetError::Transport(problem.to_owned());
        let start = Instant::now();
        let deliver = stream.client.new_inbox();
        let mut messages = match stream.client.subscribe(deliver.clone()).await {
            Ok(messages) => messages,
            Err(error) => return lost(&error.to_string()),
        };
        // Also if its files were removed.
        let found = match stream.open().await {
            Ok(found) => found,
            Err(error) => return error,
        };
        if created.as_ref().is_some_and(|created| *created != found) {
            self.forget_records();
        }
        *created = Some(found);
        let watch = match stream.watch(filter, &deliver).await {
            Ok(watch) => watch,
            Err(error) => return error,
        };
        let (mut delivered, mut pending, mut first) = (0, watch.pending, Some(HashSet::new()));
        let error = loop {
            if pending == 0
                && let Some(read) = first.take()
            {
                self.complete(&read, start);
            }
            let Ok(received) = tokio::time::timeout(HEARTBEAT * 3, messages.next()).await else {
                break lost("the server shows no sign of life");
            };
            let Some(message) = received else { break lost("the connection is closed") };
            self.note_contact();
            // A heartbeat, or a message of the server about its side.
            if message.status.is_some() {
                match last_delivered(&message) {
                    Some(last) if last > delivered => break lost("a message is missing"),
                    // It has no more: records that were removed after the begin of the watch are not sent.
                    Some(_) => pending = 0,
                    None => {}
                }
                continue;
            }
            let Some(position) = Position::of(&message) else { continue };
            if position.delivered != delivered + 1 {
                break lost("a message is missing");
            }
            (delivered, pending) = (position.delivered, position.pending);
            match serde_json::from_slice::<StreamRecord>(&message.payload) {
                Ok(record) if is_record_of(&record, &message) => {
                    if let Some(read) = &mut first {
                        read.insert(record.call.id.clone());
                    }
                    self.note_record(position.sequence, record);
                }
                _ => tracing::warn!(subject = %message.subject, "a stored call was altered, and is ignored"),
            }
        };
        if let Err(error) = stream.end_watch(&watch).await {
            tracing::debug!(%error, "a watch was not ended, and ends by itself");
        }
        error
    }
}

/// Returns the number of messages that a watch has sent, from a heartbeat.
fn last_delivered(message: &Message) -> Option<u64> {
    message.headers.as_ref()?.get(LAST_DELIVERED)?.as_str().parse().ok()
}

/// Returns `true` if the record names the call of its subject.
fn is_record_of(record: &StreamRecord, message: &Message) -> bool {
    message.subject.rsplit('.').next() == Some(record.call.id.as_str())
}

/// The position of a delivered message, from its reply subject.
struct Position {
    /// Its sequence in the stream.
    sequence: u64,
    /// Its number among those that were delivered.
    delivered: u64,
    /// The number of messages that follow.
    pending: u64,
}

impl Position {
    fn of(message: &Message) -> Option<Self> {
        let reply = message.reply.as_ref()?;
        let parts: Vec<&str> = reply.split('.').collect();
        // `$JS.ACK.STREAM.CONSUMER.TIMES.SEQUENCE.DELIVERED.TIME.PENDING`; with a domain and an account in front of the stream, and a token at the end.
        let first = if parts.len() >= 11 { 7 } else { 5 };
        let number = |at: usize| parts.get(at)?.parse().ok();
        Some(Self { sequence: number(first)?, delivered: number(first + 1)?, pending: number(first + 3)? })
    }
}

#[cfg(test)]
mod tests;
