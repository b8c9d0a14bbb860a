//! The version of a schema, and the steps to the next one.
//!
//! All missing steps are one transaction under an advisory lock that ends with it: of two processes that open one database at once, one
//! migrates it and the other one waits.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{connection::BeginStatements, error::store_error};
use crate::SessionError;

/// The steps, by the version that they make. The numbers are those of the SQLite store.
const MIGRATIONS: [(i64, &str); 3] = [
    (1, include_str!("migrations/1_sessions.sql")),
    (2, include_str!("migrations/2_memory_artifacts.sql")),
    (3, include_str!("migrations/3_open_calls.sql")),
];

/// The oldest server that is tested, as a number of the server.
const MIN_SERVER_VERSION: u32 = 140_000;

/// Returns the version that this crate makes.
fn newest_version() -> i64 {
    MIGRATIONS.last().map_or(0, |(version, _)| *version)
}

/// Checks the server, and brings the schema to the present version.
pub(super) async fn migrate(
    connection: &mut PgConnection,
    schema: &str,
    begin_statements: &BeginStatements,
) -> Result<(), SessionError> {
    check_server_and_encoding(connection).await?;
    if begin_statements
        .run_read_transaction(connection, async |connection| read_supported_version(connection, schema).await)
        .await?
        == newest_version()
    {
        return Ok(());
    }
    let mut transaction =
        connection.begin_with(begin_statements.migration.clone()).await.map_err(store_error)?;
    apply_missing_migrations(&mut transaction, schema).await?;
    transaction.commit().await.map_err(store_error)
}

async fn check_server_and_encoding(connection: &mut PgConnection) -> Result<(), SessionError> {
    let version = connection.server_version_num();
    if version.is_some_and(|version| version < MIN_SERVER_VERSION) {
        let problem = "the server is older than Postgres 14; update the server".to_owned();
        return Err(SessionError::Failed(problem));
    }
    let mut transaction = connection.begin().await.map_err(store_error)?;
    let query = sqlx::query_scalar("SELECT current_setting('server_encoding')").persistent(false);
    let encoding: String = query.fetch_one(&mut *transaction).await.map_err(store_error)?;
    transaction.rollback().await.map_err(store_error)?;
    if encoding != "UTF8" {
        let problem = format!("the database has the encoding `{encoding}`; use a database with `UTF8`");
        return Err(SessionError::Failed(problem));
    }
    Ok(())
}

async fn apply_missing_migrations(connection: &mut PgConnection, schema: &str) -> Result<(), SessionError> {
    // Read again, after the lock: another process may have migrated meanwhile.
    let version = read_supported_version(connection, schema).await?;
    if !schema_exists(connection, schema).await? {
        // A validated name.
        let create = AssertSqlSafe(format!("CREATE SCHEMA {schema}"));
        sqlx::raw_sql(create).execute(&mut *connection).await.map_err(store_error)?;
    }
    for (_, step) in MIGRATIONS.into_iter().filter(|(number, _)| *number > version) {
        sqlx::raw_sql(step).execute(&mut *connection).await.map_err(store_error)?;
    }
    let update = sqlx::query("UPDATE store_version SET version = $1").persistent(false);
    update.bind(newest_version()).execute(connection).await.map(drop).map_err(store_error)
}

async fn schema_exists(connection: &mut PgConnection, schema: &str) -> Result<bool, SessionError> {
    let query = "SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = $1";
    let query = sqlx::query_scalar(query).bind(schema).persistent(false);
    let count: i64 = query.fetch_one(connection).await.map_err(store_error)?;
    Ok(count > 0)
}

/// Returns the version of the schema: 0 if it has no tables of this crate.
async fn read_supported_version(connection: &mut PgConnection, schema: &str) -> Result<i64, SessionError> {
    let query = "SELECT count(*) FROM pg_catalog.pg_class AS c \
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
                 WHERE n.nspname = $1 AND c.relname = 'store_version'";
    let query = sqlx::query_scalar(query).bind(schema).persistent(false);
    let tables: i64 = query.fetch_one(&mut *connection).await.map_err(store_error)?;
    if tables == 0 {
        return Ok(0);
    }
    let query = sqlx::query_scalar("SELECT version FROM store_version").persistent(false);
    let version: i64 = query.fetch_one(connection).await.map_err(store_error)?;
    if version > newest_version() {
        let version_of = |number| u32::try_from(number).unwrap_or(u32::MAX);
        let (found, supported) = (version_of(version), version_of(newest_version()));
        return Err(SessionError::NewerVersion { found, supported });
    }
    Ok(version)
}
