//! The store in an SQLite file.
//!
//! One task writes, and commits the writes of many sessions together; a pool of connections reads. The file is in WAL mode, so that readers
//! wait for no writer, and several processes can use it: each transaction of a writer begins with its lock (`BEGIN IMMEDIATE`). Bodies
//! are `TEXT`, times are integers.

#[cfg(feature = "artifacts")]
mod artifacts;
mod error;
mod file;
mod memory;
mod migration;
mod open_calls;
mod options;
mod writer;

use std::{borrow::Cow, fmt, path::Path, sync::Arc, time::Duration};

use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Sqlite, SqliteConnection, SqlitePool,
    query::Query,
    sqlite::{SqliteArguments, SqlitePoolOptions, SqliteRow},
};
use tool_runtime::BoxFuture;

#[cfg(test)]
pub(crate) use self::migration::migrate;
pub use self::options::{SqliteOptions, Synchronous};
use self::{
    error::store_error,
    file::DatabaseFile,
    writer::{JobKind, SqliteWriter},
};
use crate::{
    Clock, EntryPage, EntryQuery, Lease, LeaseGrant, LeaseRequest, Retention, Session, SessionError,
    SessionExport, SessionFilter, SessionKey, SessionSnapshot, SessionStore, SessionVersion, SessionWrite,
    UnfinishedRun, millis, sql,
};

/// A store in an SQLite file, which several processes can use at once; clones share it. It is a store of sessions and of open calls
/// ([`OpenCallStore`](tool_runtime::open_calls::OpenCallStore)).
///
/// A process that is stopped in the middle of a write keeps the lock of the file until it goes on or ends: the writes of others are
/// [`Unavailable`](SessionError::Unavailable) for this time.
///
/// A file that is removed or replaced under the store is an error of each write; reads go on with the file that was opened. A new file has the
/// mode 0600, and a new folder 0700. Any process that can write to the file controls what a model reads of its sessions.
///
/// # Examples
///
/// ```
/// use tool_session::{LeaseRequest, SessionKey, SessionWrite, SharedSessionStore, SqliteStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("tool-session-example-{}", std::process::id()));
/// # let path = folder.join("sessions.sqlite");
/// let store = SqliteStore::open(&path).await?;
/// let sessions = SharedSessionStore::new(store.clone());
/// let key = SessionKey::new("shop", "u-7", "s-1")?;
/// let grant = sessions.acquire(&key, &LeaseRequest::new("run-1", "process-1")).await?;
/// sessions.write(&grant.lease, &SessionWrite::new(0).title("Sums").end_of_run()).await?;
/// store.close().await;
///
/// let sessions = SharedSessionStore::new(SqliteStore::open(&path).await?);
/// let snapshot = sessions.load(&key).await?.expect("it outlives the store");
/// assert_eq!(snapshot.session.title.as_deref(), Some("Sums"));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<SqliteStoreState>);

struct SqliteStoreState {
    readers: SqlitePool,
    /// `None` if the store was opened for reading only.
    writer: Option<SqliteWriter>,
    clock: Clock,
}

impl SqliteStore {
    /// Opens the file `path` with default settings; it is made if there is none, and migrated if it has an older version. Needs a
    /// `tokio` runtime, in which its writer runs until the last clone is dropped or [closed](Self::close).
    ///
    /// # Errors
    ///
    /// Returns [`NewerVersion`](SessionError::NewerVersion) if a newer version of this crate made it, and
    /// [`Unavailable`](SessionError::Unavailable) if another process has it locked for too long.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, SessionError> {
        SqliteOptions::new(path).open().await
    }

    pub(super) async fn open_with(options: SqliteOptions) -> Result<Self, SessionError> {
        let readers =
            SqlitePoolOptions::new().max_connections(options.max_readers).acquire_timeout(READER_TIMEOUT);
        let readers = readers.connect_lazy_with(options.connect_options().pragma("query_only", "ON"));
        let clock = options.clock.clone();
        if options.is_read_only {
            let mut connection = options.connect_options().connect().await.map_err(store_error)?;
            let checked = migration::check_is_newest_version(&mut connection).await;
            // A connection that only read needs no orderly end.
            drop(connection.close().await);
            checked?;
            return Ok(Self(Arc::new(SqliteStoreState { readers, writer: None, clock })));
        }
        options.create_missing_file()?;
        let connection = connect_writer_with_retries(&options).await?;
        let writer = SqliteWriter::start(connection, DatabaseFile::identify(&options.path)?, clock.clone());
        Ok(Self(Arc::new(SqliteStoreState { readers, writer: Some(writer), clock })))
    }

    /// Closes the store after all writes that wait, for all clones, and waits for its end: later operations are
    /// [`Closed`](SessionError::Closed).
    pub async fn close(&self) {
        self.0.readers.close().await;
        if let Some(writer) = &self.0.writer {
            writer.close_and_join().await;
        }
    }

    /// Runs an operation of the writer.
    async fn run_write<T, F>(&self, operation: F) -> Result<T, SessionError>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, SessionError>>
            + Send
            + Sync
            + 'static,
    {
        self.require_writer()?.run_in_transaction(JobKind::Write, operation).await
    }

    /// Runs an operation of the writer that is refused, if at all, before it changes anything.
    async fn run_lease_operation<T, F>(&self, operation: F) -> Result<T, SessionError>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, SessionError>>
            + Send
            + Sync
            + 'static,
    {
        self.require_writer()?.run_in_transaction(JobKind::Lease, operation).await
    }

    fn require_writer(&self) -> Result<&SqliteWriter, SessionError> {
        self.0.writer.as_ref().ok_or(SessionError::ReadOnly)
    }
}

/// The time for which a read waits for a connection.
const READER_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects the writer, and migrates. The change to WAL mode and the migration of several processes at once fail without a wait: they are
/// tried again within the busy timeout.
async fn connect_writer_with_retries(options: &SqliteOptions) -> Result<SqliteConnection, SessionError> {
    const PAUSE: Duration = Duration::from_millis(20);
    let deadline = tokio::time::Instant::now() + options.busy_timeout;
    loop {
        match connect_and_migrate(options).await {
            Err(SessionError::Unavailable(_)) if tokio::time::Instant::now() < deadline => {
                tokio::time::sleep(PAUSE).await;
            }
            result => return result,
        }
    }
}

async fn connect_and_migrate(options: &SqliteOptions) -> Result<SqliteConnection, SessionError> {
    let mut connection = options.writer_connect_options().connect().await.map_err(store_error)?;
    // Before the change of the mode, which would write to the database of another program.
    migration::migrate(&mut connection).await?;
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode = WAL")
        .fetch_one(&mut connection)
        .await
        .map_err(store_error)?;
    if mode != "wal" {
        return Err(SessionError::Failed(format!(
            "the database has the journal mode `{mode}`; use a local file"
        )));
    }
    if let Some(bytes) = options.max_bytes {
        let page: i64 =
            sqlx::query_scalar("PRAGMA page_size").fetch_one(&mut connection).await.map_err(store_error)?;
        let pages = sql::sql_integer(bytes) / page.max(1);
        // A number of ours.
        let pragma = AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
        sqlx::raw_sql(pragma).execute(&mut connection).await.map_err(store_error)?;
    }
    Ok(connection)
}

crate::sql::sqlx_connection!(SqliteConnection, SqliteRow, store_error, sqlite_query, {
    // Each transaction of the writer has the database for itself.
    const ROW_LOCK: &'static str = "";
    // The index only marks the words of deleted notes, until its parts are merged.
    const FORGET_TERMS: Option<&'static str> =
        Some("INSERT INTO note_index (note_index) VALUES ('optimize')");
    const NEXT_EPOCH: &'static str = "UPDATE epochs SET last = last + 1 RETURNING last";
    // The driver keeps prepared statements by their texts, which are few then; and SQLite searches the names of all parameters for each one.
    const MAX_ROWS: usize = 32;
    const SENDS_ALL_ROWS: bool = false;
});

fn sqlite_query(sql: Cow<'static, str>) -> Query<'static, Sqlite, SqliteArguments> {
    sqlx::query(AssertSqlSafe(sql))
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("read_only", &self.0.writer.is_none()).finish_non_exhaustive()
    }
}

impl SessionStore for SqliteStore {
    async fn load(&self, key: &SessionKey) -> Result<Option<SessionSnapshot>, SessionError> {
        // In one transaction, whose statements see one moment.
        let mut transaction = self.0.readers.begin().await.map_err(store_error)?;
        let snapshot = sql::read_snapshot(&mut *transaction, key).await?;
        transaction.rollback().await.map_err(store_error)?;
        Ok(snapshot)
    }

    async fn list(&self, filter: &SessionFilter) -> Result<Vec<Session>, SessionError> {
        let mut connection = self.0.readers.acquire().await.map_err(store_error)?;
        sql::read_session_page(&mut *connection, filter).await
    }

    async fn entries(&self, key: &SessionKey, query: &EntryQuery) -> Result<EntryPage, SessionError> {
        let mut connection = self.0.readers.acquire().await.map_err(store_error)?;
        sql::read_entry_page(&mut *connection, key, query).await
    }

    async fn acquire(&self, key: &SessionKey, request: &LeaseRequest) -> Result<LeaseGrant, SessionError> {
        let (values, clock) = (Arc::new((key.clone(), request.clone())), self.0.clock.clone());
        self.run_lease_operation(move |connection| {
            let (values, now) = (Arc::clone(&values), clock.now());
            Box::pin(async move { sql::acquire_lease(connection, &values.0, &values.1, now).await })
        })
        .await
    }

    async fn renew(&self, lease: &Lease) -> Result<Lease, SessionError> {
        let (lease, clock) = (Arc::new(lease.clone()), self.0.clock.clone());
        self.run_lease_operation(move |connection| {
            let (lease, now) = (Arc::clone(&lease), clock.now());
            Box::pin(async move { sql::renew_lease(connection, &lease, now).await })
        })
        .await
    }

    async fn release(&self, lease: &Lease) -> Result<(), SessionError> {
        let lease = Arc::new(lease.clone());
        self.run_lease_operation(move |connection| {
            let lease = Arc::clone(&lease);
            Box::pin(async move { sql::release_lease(connection, &lease).await })
        })
        .await
    }

    async fn abandon(&self, lease: &Lease) -> Result<(), SessionError> {
        let (lease, clock) = (Arc::new(lease.clone()), self.0.clock.clone());
        self.run_lease_operation(move |connection| {
            let (lease, now) = (Arc::clone(&lease), clock.now());
            Box::pin(async move { sql::abandon_lease(connection, &lease, now).await })
        })
        .await
    }

    async fn write(&self, lease: &Lease, write: &SessionWrite) -> Result<SessionVersion, SessionError> {
        self.require_writer()?.apply_write(lease.clone(), write.clone()).await
    }

    async fn fork(
        &self,
        key: &SessionKey,
        last_entry: u64,
        fork: &SessionKey,
    ) -> Result<Session, SessionError> {
        let (keys, clock) = (Arc::new((key.clone(), fork.clone())), self.0.clock.clone());
        self.run_write(move |connection| {
            let (keys, now) = (Arc::clone(&keys), clock.now());
            Box::pin(async move { sql::fork_session(connection, &keys.0, last_entry, &keys.1, now).await })
        })
        .await
    }

    async fn delete(&self, key: &SessionKey) -> Result<bool, SessionError> {
        let key = key.clone();
        self.require_writer()?
            .run_in_transaction(JobKind::Deletion, move |connection| {
                let key = key.clone();
                Box::pin(async move { sql::delete_session(connection, &key).await })
            })
            .await
    }

    async fn delete_user(&self, app: &str, user: &str) -> Result<u64, SessionError> {
        let names: Arc<(String, String)> = Arc::new((app.to_owned(), user.to_owned()));
        self.require_writer()?
            .run_in_transaction(JobKind::Deletion, move |connection| {
                let names = Arc::clone(&names);
                Box::pin(async move { sql::delete_user(connection, &names.0, &names.1).await })
            })
            .await
    }

    async fn prune(&self, retention: &Retention) -> Result<u64, SessionError> {
        let (retention, clock) = (Arc::new(retention.clone()), self.0.clock.clone());
        self.require_writer()?
            .run_in_transaction(JobKind::Deletion, move |connection| {
                let (retention, now) = (Arc::clone(&retention), clock.now());
                Box::pin(async move { sql::prune_sessions(connection, &retention, now).await })
            })
            .await
    }

    async fn unfinished(&self, app: &str) -> Result<Vec<UnfinishedRun>, SessionError> {
        let now = millis::from_time(self.0.clock.now());
        let mut connection = self.0.readers.acquire().await.map_err(store_error)?;
        sql::read_unfinished_runs(&mut *connection, app, now).await
    }

    async fn import(&self, exports: &[SessionExport]) -> Result<(), SessionError> {
        let exports: Arc<[SessionExport]> = exports.into();
        self.run_write(move |connection| {
            let exports = Arc::clone(&exports);
            Box::pin(async move { sql::import_sessions(connection, &exports).await })
        })
        .await
    }
}
