//! The writes of a run to the store of its session, under a lease.

mod below;
mod retries;

use std::{
    sync::{
        Arc, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::Serialize;
use serde_json::{Map, Value};
use tokio::{sync::Mutex, time::Instant};
use tool_runtime::{RunContext, call::CallId};
use tool_session::{
    EntryContent, Lease, LeaseGrant, LeaseRequest, SessionError, SessionWrite, SharedSessionStore,
};

pub(super) use self::retries::StoreRetries;
use super::{
    EndReason, RunUsage,
    entry::{EntryCodec, end_entry, usage_json},
    member::EntryOrigin,
    state_changes::state_changes,
};

/// The pause before a failed operation is tried again.
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// A store with the settings of its runner.
#[derive(Debug, Clone)]
pub(super) struct StoreAccess {
    pub(super) store: SharedSessionStore,
    /// `true` for the store in memory that the runner alone has: its operations do not wait, no lease of it expires, and it needs no journal, since
    /// it ends with the process.
    pub(super) is_own: bool,
    /// The holder of the leases of the runner and its clones.
    pub(super) holder: Arc<str>,
    pub(super) lease_duration: Duration,
    /// The time for which a failed operation is tried again.
    pub(super) timeout: Duration,
}

/// Writes the steps of one run. The first failure is kept, and nothing is written after it.
///
/// The runs below the calls of the run write under its lease, each with a writer [of its own](Self::below).
#[derive(Debug)]
pub(super) struct SessionWriter {
    access: StoreAccess,
    codec: EntryCodec,
    run: Arc<RunContext>,
    /// The view key of a run below a call.
    view: Option<Arc<str>>,
    shared: Arc<SharedWrites>,
    is_ended: AtomicBool,
    /// The active agent, if it is another one than the agent of the run.
    agent: std::sync::Mutex<Option<Arc<str>>>,
    /// The runs that the run continues.
    recovered: OnceLock<Vec<CallId>>,
}

/// The writes of a run and of the runs below its calls, one after another.
#[derive(Debug)]
struct SharedWrites {
    state: Mutex<WriterState>,
    failure: OnceLock<EndReason>,
    /// The run that has the lease.
    root: Arc<RunContext>,
}

#[derive(Debug)]
struct WriterState {
    lease: Lease,
    revision: u64,
    /// The state of the session as it is stored.
    stored_values: Arc<Map<String, Value>>,
    /// A write whose future was dropped: it is repeated before the next one.
    unanswered_write: Option<SessionWrite>,
    /// `true` if the session has something that `recover` may continue.
    is_unfinished: bool,
}

impl SessionWriter {
    /// Creates the writer of `run` after its lease was granted.
    pub(super) fn new(
        access: StoreAccess,
        codec: EntryCodec,
        run: &Arc<RunContext>,
        grant: &LeaseGrant,
        stored_values: Map<String, Value>,
    ) -> Self {
        let (lease, revision) = (grant.lease.clone(), grant.session.revision);
        let state = WriterState {
            lease,
            revision,
            stored_values: Arc::new(stored_values),
            unanswered_write: None,
            is_unfinished: grant.interrupted.is_some(),
        };
        Self {
            access,
            codec,
            run: Arc::clone(run),
            view: None,
            shared: Arc::new(SharedWrites {
                state: Mutex::new(state),
                failure: OnceLock::new(),
                root: Arc::clone(run),
            }),
            is_ended: AtomicBool::new(false),
            agent: std::sync::Mutex::default(),
            recovered: OnceLock::new(),
        }
    }

    /// Notes the runs that the run continues, which its end names.
    pub(super) fn set_recovered_runs(&self, runs: Vec<CallId>) {
        drop(self.recovered.set(runs));
    }

    fn recovered_runs(&self) -> &[CallId] {
        self.recovered.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns `true` if the store is the one in memory that the runner alone has.
    pub(super) fn has_own_store(&self) -> bool {
        self.access.is_own
    }

    /// Returns `true` if this is the writer of `run`.
    pub(super) fn is_writer_of(&self, run: &RunContext) -> bool {
        std::ptr::eq(Arc::as_ptr(&self.run), run)
    }

    /// Returns the reason for which the run cannot write any more.
    pub(super) fn failure(&self) -> Option<&EndReason> {
        self.shared.failure.get()
    }

    /// Returns the lease and the revision, if no operation uses them; no lease after the end was written.
    pub(super) fn current_lease_and_revision(&self) -> Option<(Option<Lease>, u64)> {
        let state = self.shared.state.try_lock().ok()?;
        let is_ended = self.is_ended.load(Ordering::Relaxed);
        Some(((!is_ended).then(|| state.lease.clone()), state.revision))
    }

    /// Returns the entry of a body.
    pub(super) fn entry(
        &self,
        kind: &'static str,
        body: &impl Serialize,
        has_secret: bool,
    ) -> Result<EntryContent, SessionError> {
        let entry = self.codec.entry(&self.run, kind, body, has_secret)?;
        Ok(self.in_view(self.with_name_of_agent(entry)))
    }

    /// Sets the active agent, whose name the next entries have; `None` for the agent of the run.
    pub(super) fn set_agent(&self, agent: Option<Arc<str>>) {
        *self.agent.lock().unwrap_or_else(PoisonError::into_inner) = agent;
    }

    fn with_name_of_agent(&self, entry: EntryContent) -> EntryContent {
        match self.agent.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            Some(agent) => entry.with_agent(agent),
            None => entry,
        }
    }

    /// Returns the entry of a body of one of several agents.
    pub(super) fn entry_of(
        &self,
        origin: &EntryOrigin,
        kind: &'static str,
        body: &impl Serialize,
        has_secret: bool,
    ) -> Result<EntryContent, SessionError> {
        let entry = self.in_view(self.codec.entry(&origin.run, kind, body, has_secret)?);
        Ok(match &origin.view {
            Some(view) => entry.with_view(Arc::clone(view)),
            None => entry,
        })
    }

    /// Writes one step: its entries, the changes of state, and the usage; removes the histories with the keys `removed_views`. Returns `false` if it is
    /// not stored.
    pub(super) async fn write(
        &self,
        entries: Result<Vec<EntryContent>, SessionError>,
        removed_views: Vec<Arc<str>>,
        usage: RunUsage,
    ) -> bool {
        self.write_step(entries, removed_views, usage, false).await
    }

    /// Writes the last entries and the end of the run, and releases the lease. Returns `false` if that is not stored.
    pub(super) async fn write_end(
        &self,
        entries: Result<Vec<EntryContent>, SessionError>,
        removed_views: Vec<Arc<str>>,
        reason: &EndReason,
        usage: RunUsage,
    ) -> bool {
        let end = end_entry(&self.run, reason, usage, self.recovered_runs())
            .map(|end| self.in_view(self.with_name_of_agent(end)));
        let entries = entries.and_then(|entries| Ok(entries.into_iter().chain([end?]).collect()));
        let is_stored = self.write_step(entries, removed_views, usage, true).await;
        self.is_ended.fetch_or(is_stored, Ordering::Relaxed);
        is_stored
    }

    async fn write_step(
        &self,
        entries: Result<Vec<EntryContent>, SessionError>,
        removed_views: Vec<Arc<str>>,
        usage: RunUsage,
        ends_run: bool,
    ) -> bool {
        if self.view.is_some() {
            return self.write_below(entries, removed_views).await;
        }
        let mut state = self.shared.state.lock().await;
        let values = self.run.state();
        let step = |state: &WriterState| -> Result<SessionWrite, SessionError> {
            let changes = match Arc::ptr_eq(&state.stored_values, &values) {
                true => Map::new(),
                false => state_changes(&state.stored_values, &values),
            };
            let write = SessionWrite::new(state.revision).entries(entries?).changes(changes);
            let write = write.remove_views(removed_views).usage(usage_json(usage, self.recovered_runs())?);
            Ok(if ends_run { write.end_of_run() } else { write })
        };
        let is_stored = self.write_next(&mut state, step).await;
        if is_stored {
            state.stored_values = values;
        }
        is_stored
    }

    /// Writes an entry of the journal of calls: without the state, which is stored with the step. Returns `false` if it is not stored.
    pub(super) async fn write_journal(&self, entry: Result<EntryContent, SessionError>) -> bool {
        let mut state = self.shared.state.lock().await;
        self.write_next(&mut state, |state| Ok(SessionWrite::new(state.revision).entry(entry?))).await
    }

    /// Makes the next write. Its future may be dropped: then it is repeated before the one after it, which the store recognizes.
    async fn write_next(
        &self,
        state: &mut WriterState,
        next: impl FnOnce(&WriterState) -> Result<SessionWrite, SessionError>,
    ) -> bool {
        if self.shared.failure.get().is_some() {
            return false;
        }
        let result = match state.unanswered_write.clone() {
            Some(write) => self.write_until_stored(state, &write).await,
            None => Ok(()),
        };
        let result = match result.and_then(|()| next(state).map_err(|error| store_failure(&error))) {
            Ok(write) => self.write_until_stored(state, &write).await,
            Err(reason) => Err(reason),
        };
        result.map_err(|reason| self.fail(reason)).is_ok()
    }

    /// Writes until that succeeds, or its time is over.
    async fn write_until_stored(
        &self,
        state: &mut WriterState,
        write: &SessionWrite,
    ) -> Result<(), EndReason> {
        let mut retries = StoreRetries::new(&self.access, &self.run);
        (state.unanswered_write, state.is_unfinished) = (Some(write.clone()), true);
        loop {
            let error = match retries.attempt(self.access.store.write(&state.lease, write)).await {
                Ok(version) => {
                    (state.revision, state.unanswered_write) = (version.revision, None);
                    return Ok(());
                }
                Err(SessionError::Superseded { .. }) => {
                    match retries.attempt(self.take_lease_again(state)).await {
                        Ok(()) => continue,
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            retries.pause_after(error).await?;
        }
    }

    /// Takes the lease again that another run had, unless that run has it still, or wrote.
    async fn take_lease_again(&self, state: &mut WriterState) -> Result<(), SessionError> {
        let request = self.access.lease_request(self.shared.root.id()).at_revision(state.revision);
        match self.access.store.acquire(&state.lease.key, &request).await {
            Ok(grant) => {
                state.lease = grant.lease;
                Ok(())
            }
            Err(SessionError::Busy { run, .. }) => Err(SessionError::Superseded { run }),
            Err(error) => Err(error),
        }
    }

    /// Gives up the lease of a run whose end is not stored: others need not wait for its expiry. A run that wrote is unfinished then.
    pub(super) async fn give_up_lease(&self) {
        /// The time for an operation without which the lease expires by itself.
        const MAX_SECONDS: u64 = 1;
        if self.view.is_some() || self.is_ended.load(Ordering::Relaxed) {
            return;
        }
        let state = self.shared.state.lock().await;
        let operation = async {
            match state.is_unfinished {
                true => self.access.store.abandon(&state.lease).await,
                false => self.access.store.release(&state.lease).await,
            }
        };
        let result = match self.access.is_own {
            true => Ok(operation.await),
            false => tokio::time::timeout(Duration::from_secs(MAX_SECONDS), operation).await,
        };
        match result {
            Ok(Ok(())) => self.is_ended.store(true, Ordering::Relaxed),
            Ok(Err(SessionError::Superseded { .. } | SessionError::NotFound(_))) => {}
            _ => tracing::warn!("the lease of a session was not given up; it expires by itself"),
        }
    }

    /// Renews the lease for as long as the returned future is polled.
    pub(super) async fn renew_lease_until_end(&self) {
        if self.access.is_own {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(self.access.lease_duration / 3).await;
            let mut state = self.shared.state.lock().await;
            if self.shared.failure.get().is_some() || self.is_ended.load(Ordering::Relaxed) {
                return;
            }
            // A store that does not answer delays the next write only so long.
            let attempts = StoreRetries::new(&self.access, &self.run);
            match attempts.attempt(self.renew_lease(&mut state)).await {
                Err(SessionError::Superseded { run }) => return self.fail(EndReason::Superseded { run }),
                // The next write decides.
                Err(error) => tracing::warn!(%error, "the lease of a session was not renewed"),
                Ok(()) => {}
            }
        }
    }

    async fn renew_lease(&self, state: &mut WriterState) -> Result<(), SessionError> {
        match self.access.store.renew(&state.lease).await {
            Ok(lease) => {
                state.lease = lease;
                Ok(())
            }
            Err(SessionError::Superseded { .. }) => self.take_lease_again(state).await,
            Err(error) => Err(error),
        }
    }

    /// Keeps the first failure, and ends whatever the run waits for.
    fn fail(&self, reason: EndReason) {
        drop(self.shared.failure.set(reason));
        self.shared.root.cancellation().cancel();
    }
}

impl StoreAccess {
    /// Returns the request of `run` for a lease.
    pub(super) fn lease_request(&self, run: &CallId) -> LeaseRequest {
        LeaseRequest::new(run.clone(), Arc::clone(&self.holder)).for_duration(self.lease_duration)
    }
}

/// Returns the instant after `duration`; one that the clock cannot represent is in a hundred years.
pub(super) fn instant_after(duration: Duration) -> Instant {
    const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 86_400);
    let now = Instant::now();
    now.checked_add(duration.min(MAX_DURATION)).unwrap_or(now)
}

/// Returns the end of a run whose store failed.
pub(super) fn store_failure(error: &SessionError) -> EndReason {
    EndReason::StoreFailed { message: error.to_string() }
}
