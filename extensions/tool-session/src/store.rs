//! The trait of a store of sessions.

use std::future::Future;

use crate::{
    EntryPage, EntryQuery, Lease, LeaseGrant, LeaseRequest, Retention, Session, SessionError, SessionExport,
    SessionFilter, SessionKey, SessionSnapshot, SessionVersion, SessionWrite, UnfinishedRun,
};

/// A store of sessions. Methods can be written as `async fn`; programs use a store by a [`SharedSessionStore`](crate::SharedSessionStore),
/// which validates names and limits first.
///
/// Each method is one transaction: it takes effect as a whole or not at all, and its effect is seen by all that begin later, in
/// any process. A store never interprets the bodies of entries, and returns them byte for byte.
///
/// [`InMemoryStore`](crate::InMemoryStore) is an implementation; the tests of this crate have one suite for all stores.
pub trait SessionStore: Send + Sync {
    /// Returns `true` if sessions persist after the process ends, or are read by other processes. Default: `true`.
    fn outlives_process(&self) -> bool {
        true
    }

    /// Returns a session with its state; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    fn load(
        &self,
        key: &SessionKey,
    ) -> impl Future<Output = Result<Option<SessionSnapshot>, SessionError>> + Send;

    /// Returns the sessions that `filter` admits, the last changed first; of the same time, by descending user and id.
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    fn list(&self, filter: &SessionFilter)
    -> impl Future<Output = Result<Vec<Session>, SessionError>> + Send;

    /// Returns a page of the entries of a session; an empty one if there is no such session.
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    fn entries(
        &self,
        key: &SessionKey,
        query: &EntryQuery,
    ) -> impl Future<Output = Result<EntryPage, SessionError>> + Send;

    /// Grants the lease of a session, with a new epoch: if it was never taken, is released or expired, or has the same holder.
    /// A session that does not exist is made, unless the request names a [revision](LeaseRequest::revision).
    ///
    /// # Errors
    ///
    /// Returns [`Busy`](SessionError::Busy) while another holder has the lease,
    /// [`Superseded`](SessionError::Superseded) if the session has another revision than the request names, and
    /// [`NotFound`](SessionError::NotFound) if the request names one and there is no session.
    fn acquire(
        &self,
        key: &SessionKey,
        request: &LeaseRequest,
    ) -> impl Future<Output = Result<LeaseGrant, SessionError>> + Send;

    /// Defers the expiry of a lease, which may have expired already if no other run has taken over.
    ///
    /// # Errors
    ///
    /// Returns [`Superseded`](SessionError::Superseded) if another run has taken over, and
    /// [`NotFound`](SessionError::NotFound) if the session was deleted.
    fn renew(&self, lease: &Lease) -> impl Future<Output = Result<Lease, SessionError>> + Send;

    /// Releases a lease: its run has ended. A lease that is released already stays so.
    ///
    /// # Errors
    ///
    /// As [`renew`](Self::renew).
    fn release(&self, lease: &Lease) -> impl Future<Output = Result<(), SessionError>> + Send;

    /// Lets a lease expire at once without an end of its run: another holder may take over, and the run is
    /// [unfinished](Self::unfinished). A lease that is released stays so.
    ///
    /// # Errors
    ///
    /// As [`renew`](Self::renew).
    fn abandon(&self, lease: &Lease) -> impl Future<Output = Result<(), SessionError>> + Send;

    /// Applies a write, renews the lease, and makes the next revision. Views are removed before its entries are added.
    ///
    /// A write with entries may be repeated after [`Unavailable`](SessionError::Unavailable): if the session has the next revision
    /// already, and its last entries are those of the write, the earlier attempt took effect, and its version is returned.
    ///
    /// # Errors
    ///
    /// Returns [`Superseded`](SessionError::Superseded) if the lease has an older epoch,
    /// [`RevisionChanged`](SessionError::RevisionChanged) if the write is for another revision, and
    /// [`NotFound`](SessionError::NotFound) if the session was deleted.
    fn write(
        &self,
        lease: &Lease,
        write: &SessionWrite,
    ) -> impl Future<Output = Result<SessionVersion, SessionError>> + Send;

    /// Makes the session `fork` with the entries of `key` up to the number `last_entry`; 0 for none. It has revision 1, and goes on by
    /// itself: it has neither the state nor the lease of the original, and outlives it.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](SessionError::NotFound) if there is no session `key`, [`Exists`](SessionError::Exists) if there is a session
    /// `fork`, and [`Invalid`](SessionError::Invalid) if the session has no such entry.
    fn fork(
        &self,
        key: &SessionKey,
        last_entry: u64,
        fork: &SessionKey,
    ) -> impl Future<Output = Result<Session, SessionError>> + Send;

    /// Deletes a session with everything that belongs to it, also while a run has its lease; returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing was deleted.
    fn delete(&self, key: &SessionKey) -> impl Future<Output = Result<bool, SessionError>> + Send;

    /// Deletes all data of a user of an app: sessions, state, and everything else that the store has of this user. Returns the
    /// number of sessions.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing was deleted.
    fn delete_user(&self, app: &str, user: &str) -> impl Future<Output = Result<u64, SessionError>> + Send;

    /// Deletes the sessions that `retention` does not keep; returns their number.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing was deleted.
    fn prune(&self, retention: &Retention) -> impl Future<Output = Result<u64, SessionError>> + Send;

    /// Returns the runs of `app` whose leases have expired without an end, the oldest first.
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not be read.
    fn unfinished(&self, app: &str) -> impl Future<Output = Result<Vec<UnfinishedRun>, SessionError>> + Send;

    /// Adds exported sessions, all or none. They keep their revisions and times.
    ///
    /// # Errors
    ///
    /// Returns [`Exists`](SessionError::Exists) if there is a session of one of the keys.
    fn import(&self, exports: &[SessionExport]) -> impl Future<Output = Result<(), SessionError>> + Send;
}

/// Returns the error of a request for a revision of a session that does not exist.
pub(crate) fn not_found_error(key: &SessionKey) -> SessionError {
    SessionError::NotFound(Box::new(key.clone()))
}

/// Returns the error of a session that must not exist.
pub(crate) fn already_exists_error(key: &SessionKey) -> SessionError {
    SessionError::Exists(Box::new(key.clone()))
}

/// Checks that a session of `entries` entries can be forked at `last_entry`.
pub(crate) fn check_fork_position(entries: u64, last_entry: u64) -> Result<(), SessionError> {
    if last_entry <= entries {
        return Ok(());
    }
    let problem = format!("the session has {entries} entries, and cannot be forked at entry {last_entry}");
    Err(SessionError::Invalid(problem))
}
