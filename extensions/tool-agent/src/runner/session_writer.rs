//! The writes of a run to the store of its session, under a lease.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::Serialize;
use serde_json::{Map, Value};
use tokio::{sync::Mutex, time::Instant};
use tool_runtime::{RunContext, call::CallId};
use tool_session::{
    EntryContent, JsonText, Lease, LeaseGrant, LeaseRequest, SessionError, SessionVersion, SessionWrite,
    SharedSessionStore,
};

use super::{
    EndReason, RunUsage,
    entry::{EntryCodec, end_entry},
    state_changes::state_changes,
};
use crate::Message;

/// The pause before a failed operation is tried again.
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// A store with the settings of its runner.
#[derive(Debug, Clone)]
pub(super) struct StoreAccess {
    pub(super) store: SharedSessionStore,
    /// The holder of the leases of the runner and its clones.
    pub(super) holder: Arc<str>,
    pub(super) lease_duration: Duration,
    /// The time for which a failed operation is tried again.
    pub(super) timeout: Duration,
}

/// Writes the steps of one run. The first failure is kept, and nothing is written after it.
#[derive(Debug)]
pub(super) struct SessionWriter {
    access: StoreAccess,
    codec: EntryCodec,
    run: Arc<RunContext>,
    state: Mutex<WriterState>,
    failure: OnceLock<EndReason>,
    is_ended: AtomicBool,
}

#[derive(Debug)]
struct WriterState {
    lease: Lease,
    revision: u64,
    /// The state of the session as it is stored.
    stored_values: Arc<Map<String, Value>>,
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
        let state = WriterState { lease, revision, stored_values: Arc::new(stored_values) };
        Self {
            access,
            codec,
            run: Arc::clone(run),
            state: Mutex::new(state),
            failure: OnceLock::new(),
            is_ended: AtomicBool::new(false),
        }
    }

    /// Returns the reason for which the run cannot write any more.
    pub(super) fn failure(&self) -> Option<&EndReason> {
        self.failure.get()
    }

    /// Returns the lease and the revision, if no operation uses them; no lease after the end was written.
    pub(super) fn current(&self) -> Option<(Option<Lease>, u64)> {
        let state = self.state.try_lock().ok()?;
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
        self.codec.entry(&self.run, kind, body, has_secret)
    }

    /// Writes one step: its entries, the changes of state, and the usage. Returns `false` if it is not stored.
    pub(super) async fn write(
        &self,
        entries: Result<Vec<EntryContent>, SessionError>,
        usage: RunUsage,
    ) -> bool {
        self.write_step(entries, usage, false).await
    }

    /// Writes the last entries and the end of the run, and releases the lease. Returns `false` if that is not stored.
    pub(super) async fn write_end(
        &self,
        entries: Result<Vec<EntryContent>, SessionError>,
        reason: &EndReason,
        usage: RunUsage,
    ) -> bool {
        let end = end_entry(&self.run, reason, usage);
        let entries = entries.and_then(|entries| Ok(entries.into_iter().chain([end?]).collect()));
        let is_stored = self.write_step(entries, usage, true).await;
        self.is_ended.fetch_or(is_stored, Ordering::Relaxed);
        is_stored
    }

    async fn write_step(
        &self,
        entries: Result<Vec<EntryContent>, SessionError>,
        usage: RunUsage,
        ends_run: bool,
    ) -> bool {
        let mut state = self.state.lock().await;
        if self.failure.get().is_some() {
            return false;
        }
        let values = self.run.state();
        let step = || -> Result<SessionWrite, SessionError> {
            let changes = state_changes(&state.stored_values, &values);
            let write = SessionWrite::new(state.revision).entries(entries?).changes(changes);
            let write = write.usage(JsonText::of(&usage)?);
            Ok(if ends_run { write.end_of_run() } else { write })
        };
        let result = match step() {
            Ok(write) => self.write_until_stored(&mut state, &write).await,
            Err(error) => Err(store_failure(&error)),
        };
        match result {
            Ok(version) => {
                (state.revision, state.stored_values) = (version.revision, values);
                true
            }
            Err(reason) => {
                self.fail(reason);
                false
            }
        }
    }

    /// Writes until that succeeds, or its time is over.
    async fn write_until_stored(
        &self,
        state: &mut WriterState,
        write: &SessionWrite,
    ) -> Result<SessionVersion, EndReason> {
        let mut retries = Retries::new(&self.access, &self.run);
        loop {
            let error = match retries.attempt(self.access.store.write(&state.lease, write)).await {
                Ok(version) => return Ok(version),
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
        let request = self.access.lease_request(self.run.id()).at_revision(state.revision);
        match self.access.store.acquire(&state.lease.key, &request).await {
            Ok(grant) => {
                state.lease = grant.lease;
                Ok(())
            }
            Err(SessionError::Busy { run, .. }) => Err(SessionError::Superseded { run }),
            Err(error) => Err(error),
        }
    }

    /// Renews the lease for as long as the returned future is polled.
    pub(super) async fn keep_lease(&self) {
        loop {
            tokio::time::sleep(self.access.lease_duration / 3).await;
            let mut state = self.state.lock().await;
            if self.failure.get().is_some() || self.is_ended.load(Ordering::Relaxed) {
                return;
            }
            // A store that does not answer delays the next write only so long.
            let attempts = Retries::new(&self.access, &self.run);
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
        drop(self.failure.set(reason));
        self.run.cancellation().cancel();
    }
}

impl StoreAccess {
    /// Returns the request of `run` for a lease.
    pub(super) fn lease_request(&self, run: &CallId) -> LeaseRequest {
        LeaseRequest::new(run.clone(), Arc::clone(&self.holder)).for_duration(self.lease_duration)
    }
}

/// The attempts of one operation.
pub(super) struct Retries {
    timeout: Duration,
    end: Instant,
    deadline: Option<Instant>,
}

impl Retries {
    pub(super) fn new(access: &StoreAccess, run: &RunContext) -> Self {
        let deadline = run.deadline().map(Instant::from_std);
        Self { timeout: access.timeout, end: instant_after(access.timeout), deadline }
    }

    /// Makes an attempt, which ends with the time of the operation. The first one does not depend on the deadline of the run, so
    /// that the end of a run is stored that ended by it.
    pub(super) async fn attempt<T>(
        &self,
        operation: impl Future<Output = Result<T, SessionError>>,
    ) -> Result<T, SessionError> {
        tokio::time::timeout_at(self.end, operation).await.unwrap_or_else(|_| {
            Err(SessionError::Failed(format!("the store did not answer within {:?}", self.timeout)))
        })
    }

    /// Waits before the next attempt; returns the end of the run if there is none.
    pub(super) async fn pause_after(&mut self, error: SessionError) -> Result<(), EndReason> {
        let now = Instant::now();
        let is_late = now >= self.end || self.deadline.is_some_and(|deadline| now >= deadline);
        match error {
            SessionError::Superseded { run } => Err(EndReason::Superseded { run }),
            SessionError::Unavailable(_) if !is_late => {
                tokio::time::sleep(RETRY_PAUSE).await;
                Ok(())
            }
            error => Err(store_failure(&error)),
        }
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

/// A message that is not stored yet.
pub(super) struct UnstoredMessage {
    pub(super) message: Message,
    /// `true` if it has secret arguments.
    pub(super) has_secret: bool,
}
