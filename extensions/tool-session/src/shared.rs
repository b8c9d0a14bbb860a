//! A handle to a store of any type.

use std::{fmt, future::Future, sync::Arc};

use tool_runtime::{
    BoxFuture,
    guard::{Guarded, catch, catch_async},
};

use crate::{
    EntryPage, EntryQuery, Lease, LeaseGrant, LeaseRequest, Retention, Session, SessionError, SessionExport,
    SessionFilter, SessionKey, SessionSnapshot, SessionStore, SessionVersion, SessionWrite, UnfinishedRun,
    key::check_name,
};

/// A handle to a [`SessionStore`] of any type; clones share the store. It checks names and limits before a store receives them, and
/// a panic of the store is an error.
///
/// # Examples
///
/// ```
/// use tool_session::{InMemoryStore, LeaseRequest, SessionError, SessionKey, SharedSessionStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// let sessions = SharedSessionStore::new(InMemoryStore::new());
/// let key = SessionKey::new("shop", "u-7", "s-1")?;
/// let grant = sessions.acquire(&key, &LeaseRequest::new("run-1", "process-1")).await?;
///
/// let other = sessions.acquire(&key, &LeaseRequest::new("run-2", "process-2")).await;
/// assert!(matches!(other, Err(SessionError::Busy { run, .. }) if run == grant.lease.run));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedSessionStore {
    inner: Arc<GuardedStore>,
}

struct GuardedStore {
    store: Guarded<Box<dyn ErasedSessionStore>>,
    outlives_process: bool,
}

impl SharedSessionStore {
    /// Creates a handle to `store`.
    #[must_use]
    pub fn new(store: impl SessionStore + 'static) -> Self {
        // A store that panics here is treated as one that outlives the process, which is the stricter case.
        let outlives_process = catch(|| store.outlives_process()).unwrap_or(true);
        Self { inner: Arc::new(GuardedStore { store: Guarded::new(Box::new(store)), outlives_process }) }
    }

    /// Returns `true` if sessions persist after the process ends.
    #[must_use]
    pub fn outlives_process(&self) -> bool {
        self.inner.outlives_process
    }

    /// Returns a session with its state; `None` if there is none. See [`SessionStore::load`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::load`].
    pub async fn load(&self, key: &SessionKey) -> Result<Option<SessionSnapshot>, SessionError> {
        self.run_guarded(|store| store.load(key)).await
    }

    /// Returns the sessions that `filter` admits, the last changed first. See [`SessionStore::list`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::list`]; and [`Invalid`](SessionError::Invalid) for a name that no session can have.
    pub async fn list(&self, filter: &SessionFilter) -> Result<Vec<Session>, SessionError> {
        filter.check_names()?;
        self.run_guarded(|store| store.list(filter)).await
    }

    /// Returns a page of the entries of a session. See [`SessionStore::entries`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::entries`]; and [`Invalid`](SessionError::Invalid) for a name that no session can have.
    pub async fn entries(&self, key: &SessionKey, query: &EntryQuery) -> Result<EntryPage, SessionError> {
        query.check_names()?;
        self.run_guarded(|store| store.entries(key, query)).await
    }

    /// Takes the lease of a session, which is made if there is none. See [`SessionStore::acquire`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::acquire`].
    pub async fn acquire(
        &self,
        key: &SessionKey,
        request: &LeaseRequest,
    ) -> Result<LeaseGrant, SessionError> {
        request.check_names()?;
        self.run_guarded(|store| store.acquire(key, request)).await
    }

    /// Defers the expiry of a lease. See [`SessionStore::renew`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::renew`].
    pub async fn renew(&self, lease: &Lease) -> Result<Lease, SessionError> {
        self.run_guarded(|store| store.renew(lease)).await
    }

    /// Releases a lease: its run has ended. See [`SessionStore::release`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::release`].
    pub async fn release(&self, lease: &Lease) -> Result<(), SessionError> {
        self.run_guarded(|store| store.release(lease)).await
    }

    /// Lets a lease expire without an end of its run. See [`SessionStore::abandon`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::abandon`].
    pub async fn abandon(&self, lease: &Lease) -> Result<(), SessionError> {
        self.run_guarded(|store| store.abandon(lease)).await
    }

    /// Applies a write in one transaction. See [`SessionStore::write`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::write`]; and [`Invalid`](SessionError::Invalid) for a name or size beyond a limit.
    pub async fn write(&self, lease: &Lease, write: &SessionWrite) -> Result<SessionVersion, SessionError> {
        write.check_names_and_limits()?;
        self.run_guarded(|store| store.write(lease, write)).await
    }

    /// Makes a session with the id `fork`, of the same user, with the entries of `key` up to the number `last_entry`. See
    /// [`SessionStore::fork`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::fork`]; and [`Invalid`](SessionError::Invalid) if `fork` is no valid id.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_session::{EntryContent, InMemoryStore, JsonText, LeaseRequest, SessionKey, SessionWrite, SharedSessionStore};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> anyhow::Result<()> {
    /// let sessions = SharedSessionStore::new(InMemoryStore::new());
    /// let key = SessionKey::new("shop", "u-7", "s-1")?;
    /// let lease = sessions.acquire(&key, &LeaseRequest::new("run-1", "process-1")).await?.lease;
    /// let entry = |text: &str| JsonText::of(&text).map(|body| EntryContent::new("run-1", "message", body));
    /// sessions.write(&lease, &SessionWrite::new(0).entries([entry("2 + 2?")?, entry("5")?])).await?;
    ///
    /// let fork = sessions.fork(&key, 1, "s-1 again").await?;
    /// assert_eq!(fork.entries, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn fork(&self, key: &SessionKey, last_entry: u64, fork: &str) -> Result<Session, SessionError> {
        let fork = key.with_id(fork)?;
        self.run_guarded(|store| store.fork(key, last_entry, &fork)).await
    }

    /// Deletes a session; returns `false` if there is none. See [`SessionStore::delete`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::delete`].
    pub async fn delete(&self, key: &SessionKey) -> Result<bool, SessionError> {
        self.run_guarded(|store| store.delete(key)).await
    }

    /// Deletes all data of a user of an app; returns the number of sessions. See [`SessionStore::delete_user`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::delete_user`].
    pub async fn delete_user(&self, app: &str, user: &str) -> Result<u64, SessionError> {
        check_name("app", app)?;
        check_name("user", user)?;
        self.run_guarded(|store| store.delete_user(app, user)).await
    }

    /// Deletes the sessions that `retention` does not keep; returns their number. See [`SessionStore::prune`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::prune`]; and [`Invalid`](SessionError::Invalid) for a name that no session can have.
    pub async fn prune(&self, retention: &Retention) -> Result<u64, SessionError> {
        check_name("app", &retention.app)?;
        self.run_guarded(|store| store.prune(retention)).await
    }

    /// Returns the runs of `app` whose leases have expired without an end. See [`SessionStore::unfinished`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::unfinished`]; and [`Invalid`](SessionError::Invalid) for a name that no session can have.
    pub async fn unfinished(&self, app: &str) -> Result<Vec<UnfinishedRun>, SessionError> {
        check_name("app", app)?;
        self.run_guarded(|store| store.unfinished(app)).await
    }

    /// Reads a session whole, for [`jsonl::to_jsonl`](crate::jsonl::to_jsonl): its entries at the moment of the first read. The state of its user
    /// and its app is not part of it.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](SessionError::NotFound) if there is no session, or if it was deleted meanwhile.
    pub async fn export(&self, key: &SessionKey) -> Result<SessionExport, SessionError> {
        let not_found_error = || crate::store::not_found_error(key);
        let SessionSnapshot { session, state } = self.load(key).await?.ok_or_else(not_found_error)?;
        let mut entries = Vec::new();
        let end = session.entries.saturating_add(1);
        let mut query = Some(EntryQuery::forward().before(end).limit(EntryQuery::MAX_ENTRIES));
        while let Some(current) = query {
            let page = self.entries(key, &current).await?;
            query = current.next(&page);
            entries.extend(page.entries);
        }
        let export = SessionExport { session, state: state.session, entries };
        // A session that was deleted, or deleted and made again, between two pages has other entries.
        if export.check_contents().is_err() { Err(not_found_error()) } else { Ok(export) }
    }

    /// Adds exported sessions, all or none. See [`SessionStore::import`].
    ///
    /// # Errors
    ///
    /// As [`SessionStore::import`]; and [`Invalid`](SessionError::Invalid) if an export is not consistent, or if two have one key.
    pub async fn import(&self, exports: &[SessionExport]) -> Result<(), SessionError> {
        crate::jsonl::check_exports(exports)?;
        self.run_guarded(|store| store.import(exports)).await
    }

    /// Runs an operation of the store inside the panic barrier.
    async fn run_guarded<'a, T, F>(
        &'a self,
        operation: impl FnOnce(&'a dyn ErasedSessionStore) -> F,
    ) -> Result<T, SessionError>
    where
        F: Future<Output = Result<T, SessionError>>,
    {
        let store = self.inner.store.get().ok_or(SessionError::Closed)?;
        let output = catch_async(|| operation(&**store)).await;
        output.unwrap_or_else(|panic| Err(SessionError::Failed(format!("the store of sessions {panic}"))))
    }
}

impl fmt::Debug for SharedSessionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outlives_process = self.outlives_process();
        f.debug_struct("SharedSessionStore")
            .field("outlives_process", &outlives_process)
            .finish_non_exhaustive()
    }
}

impl<S: SessionStore + 'static> From<S> for SharedSessionStore {
    fn from(store: S) -> Self {
        Self::new(store)
    }
}

/// Defines the object-safe form of [`SessionStore`].
macro_rules! erased {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $output:ty;)*) => {
        trait ErasedSessionStore: Send + Sync {
            $(fn $name<'a>(&'a self $(, $arg: $type)*) -> BoxFuture<'a, Result<$output, SessionError>>;)*
        }

        impl<S: SessionStore> ErasedSessionStore for S {
            $(fn $name<'a>(&'a self $(, $arg: $type)*) -> BoxFuture<'a, Result<$output, SessionError>> {
                Box::pin(SessionStore::$name(self $(, $arg)*))
            })*
        }
    };
}

erased! {
    fn load(key: &'a SessionKey) -> Option<SessionSnapshot>;
    fn list(filter: &'a SessionFilter) -> Vec<Session>;
    fn entries(key: &'a SessionKey, query: &'a EntryQuery) -> EntryPage;
    fn acquire(key: &'a SessionKey, request: &'a LeaseRequest) -> LeaseGrant;
    fn renew(lease: &'a Lease) -> Lease;
    fn release(lease: &'a Lease) -> ();
    fn abandon(lease: &'a Lease) -> ();
    fn write(lease: &'a Lease, write: &'a SessionWrite) -> SessionVersion;
    fn fork(key: &'a SessionKey, last_entry: u64, fork: &'a SessionKey) -> Session;
    fn delete(key: &'a SessionKey) -> bool;
    fn delete_user(app: &'a str, user: &'a str) -> u64;
    fn prune(retention: &'a Retention) -> u64;
    fn unfinished(app: &'a str) -> Vec<UnfinishedRun>;
    fn import(exports: &'a [SessionExport]) -> ();
}
