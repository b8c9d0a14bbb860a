//! The version of a schema, and the steps to the next one.
//!
//! All missing steps are one transaction under an advisory lock that ends with it: of two processes that open one database at once, one
//! migrates it and the other one waits.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use super::database::{Attempts, Database};
use crate::FleetError;

/// The steps, by the version that they make.
const MIGRATIONS: [(i64, &str); 2] =
    [(1, include_str!("migrations/1_messages.sql")), (2, include_str!("migrations/2_calls.sql"))];

/// The oldest server that is tested, as a number of the server.
const MIN_SERVER_VERSION: u32 = 140_000;

/// `tflt` as a number: the advisory lock of migrations.
const MIGRATION_LOCK: i64 = 0x7466_6c74;

/// Returns the version that this crate makes.
fn supported_version() -> i64 {
    MIGRATIONS.last().map_or(0, |(version, _)| *version)
}

/// Brings the schema to the present version.
pub(super) async fn migrate(database: &Database) -> Result<(), FleetError> {
    let mut attempts = Attempts::new(database.deadline());
    loop {
        let migrated = tokio::time::timeout_at(attempts.deadline.time, migrate_once(database)).await;
        match migrated.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
            Ok(result) => return result.map_err(FleetError::Transport),
            Err(error) => attempts.wait_after(error).await?,
        }
    }
}

/// The inner result is the reason why the schema cannot be used.
async fn migrate_once(database: &Database) -> Result<Result<(), String>, sqlx::Error> {
    let schema = &database.schema;
    let mut connection = database.connections.pool.acquire().await?;
    if connection.server_version_num().is_some_and(|version| version < MIN_SERVER_VERSION) {
        return Ok(Err("the server is older than Postgres 14; update the server".to_owned()));
    }
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = {schema}; \
         SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"
    );
    let mut transaction = connection.begin_with(AssertSqlSafe(begin)).await?;
    let encoding = sqlx::query("SELECT current_setting('server_encoding')").persistent(false);
    let encoding: String = encoding.fetch_one(&mut *transaction).await?.try_get(0)?;
    if encoding != "UTF8" {
        return Ok(Err(format!("the database has the encoding `{encoding}`; use a database with `UTF8`")));
    }
    let (found, supported) = (read_version(&mut transaction, schema).await?, supported_version());
    if found > supported {
        return Ok(Err(format!(
            "the tables of the schema `{schema}` have the version {found}, and this program reads versions up to {supported}; \
             update the program"
        )));
    }
    if found < supported {
        apply_steps(&mut transaction, schema, found).await?;
    }
    transaction.commit().await?;
    Ok(Ok(()))
}

async fn apply_steps(connection: &mut PgConnection, schema: &str, version: i64) -> Result<(), sqlx::Error> {
    // An existing schema may be used by a role that may not create one.
    let query = "SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = $1";
    let existing = sqlx::query(query).bind(schema).persistent(false).fetch_one(&mut *connection).await?;
    if existing.try_get::<i64, _>(0)? == 0 {
        // A validated name.
        let create = AssertSqlSafe(format!("CREATE SCHEMA {schema}"));
        sqlx::raw_sql(create).execute(&mut *connection).await?;
    }
    for (_, step) in MIGRATIONS.into_iter().filter(|(number, _)| *number > version) {
        sqlx::raw_sql(step).execute(&mut *connection).await?;
    }
    let update = sqlx::query("UPDATE store_version SET version = $1").persistent(false);
    update.bind(supported_version()).execute(connection).await.map(drop)
}

/// Returns the version of the schema: 0 if it has no tables of this crate.
async fn read_version(connection: &mut PgConnection, schema: &str) -> Result<i64, sqlx::Error> {
    let query = "SELECT count(*) FROM pg_catalog.pg_class AS c \
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
                 WHERE n.nspname = $1 AND c.relname = 'store_version'";
    let tables = sqlx::query(query).bind(schema).persistent(false).fetch_one(&mut *connection).await?;
    if tables.try_get::<i64, _>(0)? == 0 {
        return Ok(0);
    }
    let query = sqlx::query("SELECT version FROM store_version").persistent(false);
    query.fetch_one(connection).await?.try_get(0)
}
