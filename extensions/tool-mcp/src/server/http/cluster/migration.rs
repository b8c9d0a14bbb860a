//! The version of a schema, and the steps to the next one.
//!
//! All missing steps are one transaction under an advisory lock that ends with it: of two processes that open one database at once, one
//! migrates it and the other one waits.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use super::{ClusterError, database::Database};

/// The steps, by the version that they make.
const MIGRATIONS: [(i64, &str); 2] =
    [(1, include_str!("migrations/1_cluster.sql")), (2, include_str!("migrations/2_append_events.sql"))];

/// The oldest server that is tested, as a number of the server.
const MIN_SERVER_VERSION: u32 = 140_000;

/// `tmcp` as a number: the advisory lock of migrations.
const MIGRATION_LOCK: i64 = 0x746d_6370;

/// Returns the version that this crate makes.
fn supported_schema_version() -> i64 {
    MIGRATIONS.last().map_or(0, |(version, _)| *version)
}

/// Brings the schema to the present version.
pub(super) async fn migrate_schema(database: &Database) -> Result<(), ClusterError> {
    let mut attempts = database.attempts();
    loop {
        match migrate_schema_once(database).await {
            Ok(result) => return result,
            Err(error) => attempts.wait_for_retry_after(error).await?,
        }
    }
}

async fn migrate_schema_once(database: &Database) -> Result<Result<(), ClusterError>, sqlx::Error> {
    let schema = &database.schema;
    let mut connection = database.pool.acquire().await?;
    if connection.server_version_num().is_some_and(|version| version < MIN_SERVER_VERSION) {
        let problem = "the server is older than Postgres 14; update the server".to_owned();
        return Ok(Err(ClusterError::Failed(problem)));
    }
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = {schema}; \
         SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"
    );
    let mut transaction = connection.begin_with(AssertSqlSafe(begin)).await?;
    let encoding = sqlx::query("SELECT current_setting('server_encoding')").persistent(false);
    let encoding: String = encoding.fetch_one(&mut *transaction).await?.try_get(0)?;
    if encoding != "UTF8" {
        let problem = format!("the database has the encoding `{encoding}`; use a database with `UTF8`");
        return Ok(Err(ClusterError::Failed(problem)));
    }
    let (found, supported) =
        (read_schema_version(&mut transaction, schema).await?, supported_schema_version());
    if found > supported {
        return Ok(Err(ClusterError::NewerVersion { found, supported }));
    }
    if found < supported {
        apply_migrations(&mut transaction, schema, found).await?;
    }
    transaction.commit().await?;
    Ok(Ok(()))
}

async fn apply_migrations(
    connection: &mut PgConnection,
    schema: &str,
    version: i64,
) -> Result<(), sqlx::Error> {
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
    update.bind(supported_schema_version()).execute(connection).await.map(drop)
}

/// Returns the version of the schema: 0 if it has no tables of this crate.
async fn read_schema_version(connection: &mut PgConnection, schema: &str) -> Result<i64, sqlx::Error> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::open_calls::ProgramKey;

    use super::*;
    use crate::server::ClusterOptions;

    /// Returns a database with a schema of its own; `None` if the machine has no server.
    fn new_database() -> Option<Database> {
        let options =
            ClusterOptions::new(&test_support::postgres::shared_url()?, ProgramKey::new([7; 32])).unwrap();
        Some(Database::new(&options.schema(test_support::postgres::new_schema()).unwrap()))
    }

    async fn fetch_number(connection: &mut PgConnection, query: &'static str) -> i64 {
        let row = sqlx::query(query).persistent(false).fetch_one(connection).await.unwrap();
        row.try_get(0).unwrap()
    }

    #[tokio::test]
    async fn a_migration_leaves_no_prepared_statement() {
        let Some(database) = new_database() else { return };
        migrate_schema(&database).await.unwrap();
        // The connection of the migration, as soon as it is idle.
        while database.pool.num_idle() == 0 {
            tokio::task::yield_now().await;
        }
        let mut connection = database.pool.acquire().await.unwrap();
        let count = "SELECT count(*) FROM pg_prepared_statements";
        assert_eq!(fetch_number(&mut connection, count).await, 0);
    }

    #[tokio::test]
    async fn a_schema_is_migrated_from_its_version_on_once() {
        let Some(database) = new_database() else { return };
        let read_version = async || {
            let mut transaction = database.pool.begin().await.unwrap();
            let set = AssertSqlSafe(format!("SET LOCAL search_path = {}", database.schema));
            sqlx::raw_sql(set).execute(&mut *transaction).await.unwrap();
            read_schema_version(&mut transaction, &database.schema).await.unwrap()
        };
        assert_eq!((read_version().await, supported_schema_version()), (0, 2));
        // The second time, the tables are there: no step is repeated.
        for _ in 0..2 {
            migrate_schema(&database).await.unwrap();
            assert_eq!(read_version().await, 2);
        }
        database.fetch("UPDATE {schema}.store_version SET version = 3", &[]).await.unwrap();
        let error = migrate_schema(&database).await.unwrap_err();
        assert!(matches!(error, ClusterError::NewerVersion { found: 3, supported: 2 }), "{error:?}");
    }
}
