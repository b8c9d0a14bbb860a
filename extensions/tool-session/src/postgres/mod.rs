//! The store in Postgres.
//!
//! Each operation is one short transaction, which locks the row of its session. Bodies are `TEXT`, times are integers.

#[cfg(feature = "artifacts")]
mod artifacts;
mod connection;
mod error;
mod memory;
mod migration;
mod open_calls;
mod options;

use std::{fmt, sync::Arc, time::Duration};

use sqlx::{PgConnection, PgPool, postgres::PgPoolOptions};

pub use self::options::PostgresOptions;
use self::{
    connection::BeginStatements,
    error::{is_deadlock, store_error},
};
use crate::{
    Clock, EntryPage, EntryQuery, Lease, LeaseGrant, LeaseRequest, Retention, Session, SessionError,
    SessionExport, SessionFilter, SessionKey, SessionSnapshot, SessionStore, SessionVersion, SessionWrite,
    UnfinishedRun, millis, sql,
};

/// A store in a database of Postgres 14 or later, whose encoding is `UTF8`; clones share it. It is a store of sessions and of open calls
/// ([`OpenCallStore`](tool_runtime::open_calls::OpenCallStore)).
///
/// Its tables are in a schema of their own, which is made when the store is opened. Operations use no state of a connection beyond
/// their transaction, so that connections may go through a pooler in transaction mode. Writes survive a power cut unless the server has
/// `synchronous_commit = off`.
///
/// Any process that can write to the tables controls what a model reads of its sessions.
///
/// # Examples
///
/// ```no_run
/// use tool_session::{LeaseRequest, PostgresStore, SessionKey, SessionWrite, SharedSessionStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// let store = PostgresStore::open("postgres://app@db.example/agents").await?;
/// let sessions = SharedSessionStore::new(store.clone());
/// let key = SessionKey::new("shop", "u-7", "s-1")?;
/// let grant = sessions.acquire(&key, &LeaseRequest::new("run-1", "process-1")).await?;
/// sessions.write(&grant.lease, &SessionWrite::new(0).title("Sums").end_of_run()).await?;
/// store.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore(Arc<PostgresStoreState>);

struct PostgresStoreState {
    pool: PgPool,
    begin_statements: BeginStatements,
    operation_timeout: Duration,
    clock: Clock,
}

impl PostgresStore {
    /// Opens the database at `url` with default settings; its tables are made if there are none, and migrated if they have an older
    /// version. Needs a `tokio` runtime.
    ///
    /// # Errors
    ///
    /// Returns [`NewerVersion`](SessionError::NewerVersion) if a newer version of this crate made the tables, and
    /// [`Unavailable`](SessionError::Unavailable) if the server is not reachable.
    pub async fn open(url: &str) -> Result<Self, SessionError> {
        PostgresOptions::new(url)?.open().await
    }

    pub(super) async fn open_with(options: PostgresOptions) -> Result<Self, SessionError> {
        let PostgresOptions { connection, schema, max_connections, operation_timeout, clock } = options;
        let pool = PgPoolOptions::new().max_connections(max_connections).acquire_timeout(operation_timeout);
        let pool = pool.connect_lazy_with(connection);
        let begin_statements = BeginStatements::new(&schema, operation_timeout);
        let store = Self(Arc::new(PostgresStoreState { pool, begin_statements, operation_timeout, clock }));
        let begin_statements = &store.0.begin_statements;
        store
            .run_with_timeout(async |connection| {
                migration::migrate(connection, &schema, begin_statements).await
            })
            .await?;
        Ok(store)
    }

    /// Closes the store, for all clones, after the operations that run: later ones are [`Closed`](SessionError::Closed).
    pub async fn close(&self) {
        self.0.pool.close().await;
    }

    /// Runs `operation` within the time of one operation. A connection that is late is not used again.
    async fn run_with_timeout<T>(
        &self,
        operation: impl AsyncFnOnce(&mut PgConnection) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let mut connection = self.0.pool.acquire().await.map_err(store_error)?;
        match tokio::time::timeout(self.0.operation_timeout, operation(&mut connection)).await {
            Ok(result) => result,
            Err(_) => {
                connection.close_on_drop();
                let timeout = self.0.operation_timeout;
                let problem = format!("the database did not answer within {timeout:?}; try again");
                Err(SessionError::Unavailable(problem))
            }
        }
    }

    async fn run_read_transaction<T>(
        &self,
        operation: impl AsyncFnOnce(&mut PgConnection) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.run_with_timeout(async |connection| {
            self.0.begin_statements.run_read_transaction(connection, operation).await
        })
        .await
    }

    async fn run_write_transaction<T>(
        &self,
        operation: impl AsyncFnOnce(&mut PgConnection) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.run_with_timeout(async |connection| {
            self.0.begin_statements.run_write_transaction(connection, operation).await
        })
        .await
    }
}

/// The attempts of a transaction that meets deletions of many rows, which lock them in any order.
#[derive(Default)]
struct DeadlockRetries(u32);

impl DeadlockRetries {
    /// Returns `true` if the server rolled the transaction back for another one, and it is run again.
    fn should_repeat_after<T>(&mut self, result: &Result<T, SessionError>) -> bool {
        const MAX_ATTEMPTS: u32 = 5;
        self.0 += 1;
        self.0 < MAX_ATTEMPTS && result.as_ref().is_err_and(is_deadlock)
    }
}

/// Awaits a transaction, and runs it again if the server rolled it back for another one. The future of a function with a closure that
/// returns a transaction is not known to be `Send`.
macro_rules! repeat_after_deadlock {
    ($transaction:expr) => {{
        let mut retries = DeadlockRetries::default();
        loop {
            let result = $transaction.await;
            if !retries.should_repeat_after(&result) {
                break result;
            }
        }
    }};
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("connections", &self.0.pool.size()).finish_non_exhaustive()
    }
}

impl SessionStore for PostgresStore {
    async fn load(&self, key: &SessionKey) -> Result<Option<SessionSnapshot>, SessionError> {
        self.run_read_transaction(async |connection| sql::read_snapshot(connection, key).await).await
    }

    async fn list(&self, filter: &SessionFilter) -> Result<Vec<Session>, SessionError> {
        self.run_read_transaction(async |connection| sql::read_session_page(connection, filter).await).await
    }

    async fn entries(&self, key: &SessionKey, query: &EntryQuery) -> Result<EntryPage, SessionError> {
        self.run_read_transaction(async |connection| sql::read_entry_page(connection, key, query).await).await
    }

    async fn acquire(&self, key: &SessionKey, request: &LeaseRequest) -> Result<LeaseGrant, SessionError> {
        let now = self.0.clock.now();
        repeat_after_deadlock!(self.run_write_transaction(async |connection| {
            sql::acquire_lease(connection, key, request, now).await
        }))
    }

    async fn renew(&self, lease: &Lease) -> Result<Lease, SessionError> {
        let now = self.0.clock.now();
        self.run_write_transaction(async |connection| sql::renew_lease(connection, lease, now).await).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), SessionError> {
        self.run_write_transaction(async |connection| sql::release_lease(connection, lease).await).await
    }

    async fn abandon(&self, lease: &Lease) -> Result<(), SessionError> {
        let now = self.0.clock.now();
        self.run_write_transaction(async |connection| sql::abandon_lease(connection, lease, now).await).await
    }

    async fn write(&self, lease: &Lease, write: &SessionWrite) -> Result<SessionVersion, SessionError> {
        let now = self.0.clock.now();
        repeat_after_deadlock!(
            self.run_write_transaction(
                async |connection| sql::apply_write(connection, lease, write, now).await
            )
        )
    }

    async fn fork(
        &self,
        key: &SessionKey,
        last_entry: u64,
        fork: &SessionKey,
    ) -> Result<Session, SessionError> {
        let now = self.0.clock.now();
        self.run_write_transaction(async |connection| {
            sql::fork_session(connection, key, last_entry, fork, now).await
        })
        .await
    }

    async fn delete(&self, key: &SessionKey) -> Result<bool, SessionError> {
        repeat_after_deadlock!(
            self.run_write_transaction(async |connection| sql::delete_session(connection, key).await)
        )
    }

    async fn delete_user(&self, app: &str, user: &str) -> Result<u64, SessionError> {
        repeat_after_deadlock!(
            self.run_write_transaction(async |connection| sql::delete_user(connection, app, user).await)
        )
    }

    async fn prune(&self, retention: &Retention) -> Result<u64, SessionError> {
        let now = self.0.clock.now();
        repeat_after_deadlock!(
            self.run_write_transaction(
                async |connection| sql::prune_sessions(connection, retention, now).await
            )
        )
    }

    async fn unfinished(&self, app: &str) -> Result<Vec<UnfinishedRun>, SessionError> {
        let now = millis::from_time(self.0.clock.now());
        self.run_read_transaction(async |connection| sql::read_unfinished_runs(connection, app, now).await)
            .await
    }

    async fn import(&self, exports: &[SessionExport]) -> Result<(), SessionError> {
        self.run_write_transaction(async |connection| sql::import_sessions(connection, exports).await).await
    }
}

#[cfg(test)]
mod tests;
