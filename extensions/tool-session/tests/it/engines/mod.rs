//! Tests that run over each database: its stores, its text of SQL, and several processes with it.

#[cfg(feature = "sqlite")]
mod backup;
mod migration;
mod open_calls;
mod processes;

use tool_runtime::open_calls::OpenCallStore;
use tool_session::{Clock, SessionStore};

/// A new, empty database.
trait Engine: Sized {
    type Store: SessionStore + OpenCallStore + Clone + 'static;

    /// Makes a database; `None` if this machine cannot, which is reported.
    async fn new() -> Option<Self>;

    /// Returns the database that another process made.
    fn of_address(address: &str) -> Self;

    /// Returns the text by which another process finds the database.
    fn address(&self) -> String;

    /// Opens a store of the database.
    async fn open(&self, clock: Clock) -> Self::Store;

    /// Makes the tables as the first version of this crate did.
    async fn make_first_version(&self);

    /// Runs statements beside all stores.
    async fn execute(&self, sql: &str);
}

/// Defines each test for each database.
macro_rules! for_each_engine {
    ($($test:ident),+ $(,)?) => {
        #[cfg(feature = "sqlite")]
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test::<crate::engines::SqliteEngine>().await;
                }
            )+
        }

        #[cfg(all(feature = "postgres", unix))]
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test::<crate::engines::PostgresEngine>().await;
                }
            )+
        }
    };
}

use for_each_engine;

#[cfg(feature = "sqlite")]
pub(crate) struct SqliteEngine {
    path: std::path::PathBuf,
    _folder: Option<crate::sqlite::Folder>,
}

#[cfg(feature = "sqlite")]
impl Engine for SqliteEngine {
    type Store = tool_session::SqliteStore;

    async fn new() -> Option<Self> {
        let folder = crate::sqlite::Folder::new();
        Some(Self { path: folder.file(), _folder: Some(folder) })
    }

    fn of_address(address: &str) -> Self {
        Self { path: address.into(), _folder: None }
    }

    fn address(&self) -> String {
        self.path.to_str().unwrap().to_owned()
    }

    async fn open(&self, clock: Clock) -> Self::Store {
        // Many processes wait for one lock, on a slow machine, too.
        let options = tool_session::SqliteOptions::new(&self.path).clock(clock);
        options.busy_timeout(std::time::Duration::from_secs(60)).open().await.unwrap()
    }

    async fn make_first_version(&self) {
        let tables = include_str!("../../../src/sqlite/migrations/1_sessions.sql");
        let header = "PRAGMA user_version = 1; PRAGMA application_id = 1953719667";
        self.execute(&format!("BEGIN; {tables}; {header}; COMMIT")).await;
    }

    async fn execute(&self, sql: &str) {
        use sqlx::{ConnectOptions, Connection};

        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&self.path).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}

#[cfg(all(feature = "postgres", unix))]
pub(crate) struct PostgresEngine {
    url: String,
    schema: String,
}

#[cfg(all(feature = "postgres", unix))]
impl Engine for PostgresEngine {
    type Store = tool_session::PostgresStore;

    async fn new() -> Option<Self> {
        Some(Self { url: crate::postgres::shared_url()?, schema: crate::postgres::new_schema() })
    }

    fn of_address(address: &str) -> Self {
        let (url, schema) = address.split_once(' ').unwrap();
        Self { url: url.to_owned(), schema: schema.to_owned() }
    }

    fn address(&self) -> String {
        format!("{} {}", self.url, self.schema)
    }

    async fn open(&self, clock: Clock) -> Self::Store {
        let options = tool_session::PostgresOptions::new(&self.url).unwrap().schema(&self.schema).unwrap();
        // Many processes wait for one row, on a slow machine, too.
        let options = options.max_connections(4).operation_timeout(std::time::Duration::from_secs(60));
        options.clock(clock).open().await.unwrap()
    }

    async fn make_first_version(&self) {
        let tables = include_str!("../../../src/postgres/migrations/1_sessions.sql");
        let schema = &self.schema;
        self.execute(&format!("CREATE SCHEMA {schema}; {tables}; UPDATE store_version SET version = 1"))
            .await;
    }

    async fn execute(&self, sql: &str) {
        use sqlx::Connection;

        let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
        let sql = sqlx::AssertSqlSafe(format!("SET search_path = {}; {sql}", self.schema));
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}
