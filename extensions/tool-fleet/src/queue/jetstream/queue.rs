use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use tokio::task::JoinHandle;
use tool_runtime::definition::ContentHash;

use super::{
    super::{
        CallQueue as _, CallState, LeaseState, NewCall, QueueEpoch, QueueLimits, QueuedCall, StartGrant,
        engine::impl_call_queue, limits::check_call_size, record::CallRecord,
    },
    entries::ViewEntry,
    lost_answers::LostAnswers,
    record::StreamRecord,
    records::{Change, MAX_CHANGES, changed_by_others, is_call_id},
    stream::Stream,
    view::View,
};
use crate::{FleetError, NatsTransport};

/// The time in which the records of a stream are read at first.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// The time in which the bytes of a request that was not queued are removed.
const PURGE_TIMEOUT: Duration = Duration::from_secs(2);

/// The part of a message that is left to its headers.
const HEADER_BYTES: usize = 1024;

/// The durable calls of a pool in a stream of JetStream. Clones share one view of the stream.
///
/// The server needs JetStream (`nats-server -js -sd FOLDER`). The stream `tool-fleet-POOL` is made with one replica and files; of a
/// stream that exists, only the age is extended, so that an operator may give it more replicas. A power cut of the server may lose calls and results that it has
/// acknowledged.
///
/// A client of the broker without the key reads ids, hashes, states, sizes and times. With rights on the subjects of the pool it can delete or delay
/// calls, have them answered as cancelled, expired or interrupted, and have a read-only or idempotent one run again. It starts no body with effects
/// that has started or ended, unless it may also purge the stream (`$JS.API.STREAM.>`), and reads and forges no request or result.
#[derive(Clone)]
pub struct JetStreamCallQueue(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) pool: String,
    limits: QueueLimits,
    pub(super) stream: Stream,
    pub(super) view: Arc<View>,
    pub(super) lost_starts: LostAnswers<Bytes>,
    /// The attempts to take a call.
    pub(super) lost_takes: LostAnswers<u64>,
    reader: JoinHandle<()>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl JetStreamCallQueue {
    /// Opens the queue of the pool `pool` with default limits, and makes its stream if there is none.
    ///
    /// # Errors
    ///
    /// As [`open_with`](Self::open_with).
    pub async fn open(transport: &NatsTransport, pool: &str) -> Result<Self, FleetError> {
        Self::open_with(transport, pool, QueueLimits::default()).await
    }

    /// Opens the queue of the pool `pool`, and has its stream keep messages for the ages of `limits`, or longer. Ages beyond their range are set to its end.
    ///
    /// # Errors
    ///
    /// Returns an error if the name of the pool is invalid, or the server cannot be reached, refuses, or has JetStream off: then it names the flag; also if it
    /// does not send the stored calls within 30 s.
    pub async fn open_with(
        transport: &NatsTransport,
        pool: &str,
        limits: QueueLimits,
    ) -> Result<Self, FleetError> {
        Self::open_stream(transport, pool, limits, true).await
    }

    /// As [`open_with`](Self::open_with), for a process that lists the calls: a stream that exists keeps its settings.
    #[cfg(feature = "cli")]
    pub(crate) async fn open_for_list(
        transport: &NatsTransport,
        pool: &str,
        limits: QueueLimits,
    ) -> Result<Self, FleetError> {
        Self::open_stream(transport, pool, limits, false).await
    }

    async fn open_stream(
        transport: &NatsTransport,
        pool: &str,
        limits: QueueLimits,
        extends_age: bool,
    ) -> Result<Self, FleetError> {
        crate::channel::check_pool_name(pool)?;
        let limits = limits.clamped();
        let stream = Stream {
            client: transport.client().clone(),
            name: format!("tool-fleet-{pool}"),
            subjects: format!("tools.{pool}.durable.>"),
            // Longer than any request is valid, so that its start is known until then.
            max_age: limits.call_age.max(limits.result_age) + Duration::from_secs(600),
            extends_age,
        };
        stream.open().await?;
        let view = View::new(limits.calls);
        let reading = Arc::clone(&view).read(stream.clone(), format!("tools.{pool}.durable.calls.>"));
        #[expect(clippy::disallowed_methods, reason = "the queue aborts it when it is dropped")]
        let reader = tokio::spawn(reading);
        let (pool, lost_starts, lost_takes) =
            (pool.to_owned(), LostAnswers::default(), LostAnswers::default());
        let shared = Shared { pool, limits, stream, view, lost_starts, lost_takes, reader };
        shared.view.wait_until_complete(OPEN_TIMEOUT).await?;
        Ok(Self(Arc::new(shared)))
    }

    async fn put_record(&self, new: NewCall) -> Result<bool, FleetError> {
        check_call_size(&new.request, self.max_bytes())?;
        if !is_call_id(&new.id) {
            return Err(FleetError::Invalid(format!(
                "the id of a queued call has 1 to 64 letters, digits and `-`, not {:?}",
                new.id
            )));
        }
        let request = new.request_hash();
        if let Some(entry) = self.entry(&new.id).await? {
            return Ok(entry.record.call.request == request);
        }
        self.0.view.totals().check_call(&self.0.pool, self.0.limits, new.request.len())?;
        let stored = self.store_call(&new, request).await;
        if stored.is_err() {
            let purging = self.purge_unqueued(&new.id, request);
            // What is left is removed by the age of the stream.
            drop(tokio::time::timeout(PURGE_TIMEOUT, purging).await);
        }
        stored
    }

    /// Stores the bytes of a request, and then its record.
    async fn store_call(&self, new: &NewCall, request: ContentHash) -> Result<bool, FleetError> {
        let subject = self.request_subject(&new.id, request);
        let stored = self.0.stream.store(&subject, 0, new.request.clone()).await?;
        let number = match stored {
            Some(sequence) => sequence,
            // By an earlier attempt.
            None => self.0.stream.read(&subject).await?.map_or(0, |message| message.sequence),
        };
        let CallRecord { call, max_workers } = CallRecord::new(new, SystemTime::now());
        let record =
            StreamRecord { call, max_workers, number, lease: Duration::ZERO, attempt: 0, is_removed: false };
        let mut known = self.0.view.entry(&new.id);
        for _ in 0..MAX_CHANGES {
            if let Some(ViewEntry { record, .. }) = known.as_ref().filter(|entry| !entry.record.is_removed) {
                let is_own = record.call.request == request;
                if !is_own {
                    self.0.stream.purge(&subject).await?;
                }
                return Ok(is_own);
            }
            // In place of one that was removed.
            if self.store_record(record.clone(), known.map_or(0, |entry| entry.sequence)).await? {
                return Ok(true);
            }
            known = self.refresh_record(&new.id).await?;
        }
        Err(changed_by_others(&new.id))
    }

    /// Removes the bytes of a request, unless a record has them: its answer may be lost.
    async fn purge_unqueued(&self, id: &str, request: ContentHash) -> Result<(), FleetError> {
        let found = self.refresh_record(id).await?;
        match found.is_some_and(|it| !it.record.is_removed && it.record.call.request == request) {
            true => Ok(()),
            false => self.0.stream.purge(&self.request_subject(id, request)).await,
        }
    }

    async fn start_record(&self, call: &QueueEpoch) -> Result<StartGrant, FleetError> {
        let start = |entry: &ViewEntry| {
            let mut record = entry.record.record();
            match record.start(call, SystemTime::now()) {
                StartGrant::Given => Change::Changed(entry.record.with_record(record), StartGrant::Given),
                refused => Change::Kept(refused),
            }
        };
        let grant = self.change_record(&call.id, start).await?.unwrap_or(StartGrant::Refused);
        if grant == StartGrant::Given && !self.take_start_of_body(call).await? {
            return Ok(StartGrant::GivenBefore);
        }
        Ok(grant)
    }

    async fn end_record(&self, call: &QueueEpoch, result: Bytes) -> Result<bool, FleetError> {
        check_call_size(&result, self.max_bytes())?;
        self.forget_start(call);
        // The view may be older than a change of another process, such as a lease that has ended.
        let known = self.refresh_record(&call.id).await?;
        if let Some(entry) = known.filter(|entry| entry.record.record().is_held(call)) {
            let replaced = entry.record.call.bytes;
            self.0.view.totals().check_result(&self.0.pool, self.0.limits, replaced, result.len())?;
        }
        let subject = self.result_subject(&call.id, call.request, call.epoch);
        let bytes = result.len() as u64;
        let last = self.0.stream.read(&subject).await?.map_or(0, |message| message.sequence);
        if self.0.stream.store(&subject, last, result).await?.is_none() {
            return Err(FleetError::Transport("another process stores a result of this call".to_owned()));
        }
        let finish = |entry: &ViewEntry| {
            let mut record = entry.record.record();
            if record.finish(call, bytes, SystemTime::now()) {
                return Change::Changed(entry.record.with_record(record), true);
            }
            // By an earlier attempt whose answer was lost.
            Change::Kept(record.call.state == CallState::Finished && record.is_in(call))
        };
        let is_stored = self.change_record(&call.id, finish).await?.unwrap_or(false);
        self.0
            .stream
            .purge(&match is_stored {
                true => self.request_subject(&call.id, call.request),
                false => subject,
            })
            .await?;
        Ok(is_stored)
    }

    async fn remove_record(&self, id: &str) -> Result<bool, FleetError> {
        let forget_bytes = |entry: &ViewEntry| {
            let mut record = entry.record.record();
            if record.call.state != CallState::Interrupted || record.call.bytes == 0 {
                return Change::Kept(None);
            }
            record.call.bytes = 0;
            Change::Changed(entry.record.with_record(record), Some(entry.record.call.request))
        };
        if let Some(request) = self.change_record(id, forget_bytes).await?.flatten() {
            self.0.stream.purge(&self.request_subject(id, request)).await?;
            return Ok(true);
        }
        let is_removable = |call: &QueuedCall| call.state.is_ended() && call.state != CallState::Interrupted;
        Ok(self.remove_record_if(id, is_removable).await?.is_some())
    }

    /// By the view, which the server keeps up to date: no message is sent.
    async fn find_record(&self, id: &str) -> Result<Option<QueuedCall>, FleetError> {
        Ok(self.entry(id).await?.map(|entry| entry.record.call))
    }

    async fn read_record(&self, id: &str) -> Result<Option<(QueuedCall, Bytes)>, FleetError> {
        let mut without_bytes = None;
        loop {
            // The view may be older than what another process has stored.
            let found = self.refresh_record(id).await?.filter(|entry| !entry.record.is_removed);
            let Some(entry) = found else { return Ok(None) };
            let call = entry.record.call;
            let subject = match call.state {
                CallState::Finished => self.result_subject(id, call.request, call.epoch),
                _ => self.request_subject(id, call.request),
            };
            match self.0.stream.read_bytes(&subject).await? {
                Some(bytes) => return Ok(Some((call, bytes))),
                // It has none, or they were altered.
                None if call.bytes == 0 || without_bytes == Some(entry.sequence) => {
                    return Ok(Some((call, Bytes::new())));
                }
                // The call was removed or has ended meanwhile, or the server has lost it.
                None => without_bytes = Some(entry.sequence),
            }
        }
    }

    async fn purge_records(&self, states: &[CallState]) -> Result<Vec<QueuedCall>, FleetError> {
        let mut purged = Vec::new();
        for listed in self.list_records(states).await? {
            let is_chosen = |call: &QueuedCall| {
                states.contains(&call.state) && !matches!(call.state, CallState::Taken | CallState::Started)
            };
            let removed = self.remove_record_if(&listed.id, is_chosen).await;
            purged.extend(self.pass_over_altered(&listed.id, removed)?.flatten());
        }
        Ok(purged)
    }

    async fn extend_record(&self, call: &QueueEpoch, lease: Duration) -> Result<LeaseState, FleetError> {
        let extend = |entry: &ViewEntry| match entry.record.record().lease_state(call) {
            LeaseState::Lost => Change::Kept(LeaseState::Lost),
            state => Change::Changed(StreamRecord { lease, ..entry.record.clone() }, state),
        };
        Ok(self.change_record(&call.id, extend).await?.unwrap_or(LeaseState::Lost))
    }

    pub(super) async fn return_record(&self, call: &QueueEpoch) -> Result<bool, FleetError> {
        self.change_call(&call.id, |record| record.give_back(call, SystemTime::now())).await
    }

    async fn cancel_record(&self, id: &str) -> Result<Option<CallState>, FleetError> {
        self.change_record(id, |entry| {
            let (state, mut record) = (entry.record.call.state, entry.record.record());
            match record.cancel(SystemTime::now()) {
                true => Change::Changed(entry.record.with_record(record), state),
                false => Change::Kept(state),
            }
        })
        .await
    }

    async fn list_records(&self, states: &[CallState]) -> Result<Vec<QueuedCall>, FleetError> {
        let is_listed =
            |entry: &ViewEntry| !entry.record.is_removed && states.contains(&entry.record.call.state);
        let mut listed = self.0.view.entries_where(is_listed);
        listed.sort_unstable_by_key(|entry| entry.record.number);
        Ok(listed.into_iter().map(|entry| entry.record.call).collect())
    }
}

impl_call_queue! { JetStreamCallQueue {
    fn pool(&self) -> &str {
        &self.0.pool
    }

    fn limits(&self) -> QueueLimits {
        self.0.limits
    }

    fn max_bytes(&self) -> usize {
        self.0.stream.client.server_info().max_payload.saturating_sub(HEADER_BYTES)
    }
} }

impl fmt::Debug for JetStreamCallQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStreamCallQueue").field("pool", &self.0.pool).finish_non_exhaustive()
    }
}
