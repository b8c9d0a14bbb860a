//! The right of one run to write a session.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use tool_runtime::call::CallId;

use crate::{
    JsonText, SessionError, SessionKey, SessionSnapshot, key::check_name, session::Session,
    state::ScopedState,
};

/// A request for the lease of a session.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use tool_session::LeaseRequest;
///
/// let request = LeaseRequest::new("run-1", "host-3 process-812").for_duration(Duration::from_secs(60));
/// # let _ = request;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseRequest {
    /// The run that wants to write.
    pub run: CallId,
    /// The holder: a name that no other process has at any time. A holder takes over its own lease at once, so that runs of one
    /// holder must wait for each other by themselves.
    pub holder: Arc<str>,
    /// The time after which another holder may take over, unless the lease is renewed. Default: 30 seconds.
    pub duration: Duration,
    /// The revision that the session must have: a run whose lease expired goes on only if no other run wrote. Default: any,
    /// and the session is made if there is none.
    pub revision: Option<u64>,
}

impl LeaseRequest {
    /// The default duration of a lease.
    pub const DEFAULT_DURATION: Duration = Duration::from_secs(30);

    /// Creates a request of `run` by `holder`.
    #[must_use]
    pub fn new(run: impl Into<CallId>, holder: impl Into<Arc<str>>) -> Self {
        Self { run: run.into(), holder: holder.into(), duration: Self::DEFAULT_DURATION, revision: None }
    }

    /// Sets the duration. Default: 30 seconds.
    #[must_use]
    pub fn for_duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    /// Grants the lease only if the session exists and has `revision`.
    #[must_use]
    pub fn at_revision(mut self, revision: u64) -> Self {
        self.revision = Some(revision);
        self
    }

    pub(crate) fn check_names(&self) -> Result<(), SessionError> {
        check_name("run", &self.run.to_string())?;
        check_name("holder of the lease", &self.holder)
    }
}

/// The right of one run to write a session. It is held by value: a store knows the last lease of each session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub key: SessionKey,
    /// The run.
    pub run: CallId,
    /// The number of the lease, larger than those of all leases before it in the store.
    pub epoch: u64,
    /// The time after which another holder may take over, by the clock of the store; each write and renewal defers it. The
    /// holder may write beyond it as long as no other run has taken over.
    pub expires_at: SystemTime,
}

/// A granted lease, and the session as its run finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseGrant {
    /// The lease.
    pub lease: Lease,
    /// The session.
    pub session: Session,
    /// The state of the session, of its user and of its app.
    pub state: ScopedState,
    /// The usage that the interrupted run stored, or this run under its last lease: a run that continues goes on where it was.
    pub usage: Option<JsonText>,
    /// The run that had the last lease and did not end it. It may be this run.
    pub interrupted: Option<CallId>,
}

/// A run whose lease has expired without an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedRun {
    /// The session.
    pub key: SessionKey,
    /// The run.
    pub run: CallId,
    /// The revision of the session.
    pub revision: u64,
    /// The time at which the lease expired.
    pub expired_at: SystemTime,
}

/// The last lease of a session, as a store keeps it.
#[derive(Debug, Clone)]
pub(crate) struct StoredLease {
    pub(crate) run: CallId,
    pub(crate) holder: Arc<str>,
    pub(crate) epoch: u64,
    pub(crate) expires_at: SystemTime,
    pub(crate) duration: Duration,
    /// `true` after its run ended.
    pub(crate) is_released: bool,
    pub(crate) usage: Option<JsonText>,
}

impl StoredLease {
    /// Creates the lease that a request is granted.
    pub(crate) fn of_request(
        request: &LeaseRequest,
        epoch: u64,
        now: SystemTime,
        usage: Option<JsonText>,
    ) -> Self {
        let (run, holder) = (request.run.clone(), Arc::clone(&request.holder));
        let expires_at = expiry_time(now, request.duration);
        Self { run, holder, epoch, expires_at, duration: request.duration, is_released: false, usage }
    }

    /// Returns `true` if the run may be alive: its lease is neither released nor expired.
    pub(crate) fn is_active(&self, now: SystemTime) -> bool {
        !self.is_released && now < self.expires_at
    }

    /// Returns `true` if the run lost its lease without an end.
    pub(crate) fn is_unfinished(&self, now: SystemTime) -> bool {
        !self.is_released && now >= self.expires_at
    }

    /// Checks that `request` may take over.
    pub(crate) fn check_takeover(
        &self,
        request: &LeaseRequest,
        revision: u64,
        now: SystemTime,
    ) -> Result<(), SessionError> {
        if self.is_active(now) && self.holder != request.holder {
            return Err(SessionError::Busy { run: self.run.clone(), expires_at: self.expires_at });
        }
        if request.revision.is_some_and(|expected| expected != revision) {
            return Err(SessionError::Superseded { run: self.run.clone() });
        }
        Ok(())
    }

    /// Checks that `lease` is this lease, and that its run has not ended.
    pub(crate) fn check_epoch_and_unreleased(&self, lease: &Lease) -> Result<(), SessionError> {
        self.check_epoch(lease)?;
        if self.is_released {
            let problem = format!("the run {:?} has ended; acquire the lease again", self.run.to_string());
            return Err(SessionError::Invalid(problem));
        }
        Ok(())
    }

    /// Checks that `lease` is this lease.
    pub(crate) fn check_epoch(&self, lease: &Lease) -> Result<(), SessionError> {
        if self.epoch == lease.epoch {
            Ok(())
        } else {
            Err(SessionError::Superseded { run: self.run.clone() })
        }
    }

    /// Extends the lease by its duration from `now` on.
    pub(crate) fn extend_expiry(&mut self, now: SystemTime) {
        self.expires_at = expiry_time(now, self.duration);
    }

    /// Lets the lease expire: its run did not end, and does not go on.
    pub(crate) fn expire_now(&mut self, now: SystemTime) {
        self.expires_at = self.expires_at.min(expiry_time(now, Duration::ZERO));
    }

    /// Returns the lease for its run.
    pub(crate) fn to_lease(&self, key: &SessionKey) -> Lease {
        let (run, epoch, expires_at) = (self.run.clone(), self.epoch, self.expires_at);
        Lease { key: key.clone(), run, epoch, expires_at }
    }

    /// Returns the grant of this lease, which replaces `previous`.
    pub(crate) fn to_grant(&self, snapshot: SessionSnapshot, previous: Option<&Self>) -> LeaseGrant {
        let interrupted = previous.filter(|it| !it.is_released).map(|it| it.run.clone());
        let SessionSnapshot { session, state } = snapshot;
        LeaseGrant {
            lease: self.to_lease(&session.key),
            usage: self.usage.clone(),
            session,
            state,
            interrupted,
        }
    }
}

/// Returns the usage that an interrupted run stored, or `run` under its last lease. It stays until `run` stores its own.
pub(crate) fn usage_to_continue(previous: Option<&StoredLease>, run: &CallId) -> Option<JsonText> {
    let continued = previous.filter(|previous| previous.run == *run || !previous.is_released);
    continued.and_then(|previous| previous.usage.clone())
}

/// Returns the time of an expiry, truncated to milliseconds; times that the clock cannot represent do not expire.
fn expiry_time(now: SystemTime, duration: Duration) -> SystemTime {
    /// A hundred years.
    const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 86_400);
    crate::millis::truncated(now.checked_add(duration.min(MAX_DURATION)).unwrap_or(now))
}

#[cfg(test)]
mod tests;
