//! The version of a database, and the steps to the next one.
//!
//! The version is the `user_version` of the file, and its `application_id` tells the databases of this crate from others. All missing
//! steps are one exclusive transaction: of two processes that open one file at once, one migrates it and the other one waits.

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::error::store_error;
use crate::SessionError;

/// The steps, by the version that they make. The numbers are those of the store in Postgres.
const MIGRATIONS: [(i64, &str); 3] = [
    (1, include_str!("migrations/1_sessions.sql")),
    (2, include_str!("migrations/2_memory_artifacts.sql")),
    (3, include_str!("migrations/3_open_calls.sql")),
];

/// `tses` as a number.
const APPLICATION_ID: i64 = 0x7473_6573;

/// Returns the version that this crate makes.
fn newest_version() -> i64 {
    MIGRATIONS.last().map_or(0, |(version, _)| *version)
}

/// Brings the database to the present version.
pub(crate) async fn migrate(connection: &mut SqliteConnection) -> Result<(), SessionError> {
    if read_supported_version(connection).await? == newest_version() {
        return Ok(());
    }
    sqlx::raw_sql("BEGIN EXCLUSIVE").execute(&mut *connection).await.map_err(store_error)?;
    match apply_missing_migrations(connection).await {
        Ok(()) => sqlx::raw_sql("COMMIT").execute(&mut *connection).await.map(drop).map_err(store_error),
        Err(error) => {
            // If it fails, there is no transaction any more.
            drop(sqlx::raw_sql("ROLLBACK").execute(&mut *connection).await);
            Err(error)
        }
    }
}

/// Checks that the database has the present version, without a change.
pub(super) async fn check_is_newest_version(connection: &mut SqliteConnection) -> Result<(), SessionError> {
    let (found, supported) = (read_supported_version(connection).await?, newest_version());
    if found == supported {
        return Ok(());
    }
    let problem = format!(
        "the database has version {found}, and {supported} is read; open it once without `read_only`"
    );
    Err(SessionError::Failed(problem))
}

async fn apply_missing_migrations(connection: &mut SqliteConnection) -> Result<(), SessionError> {
    // Read again: another process may have migrated meanwhile.
    let version = read_supported_version(connection).await?;
    for (_, step) in MIGRATIONS.into_iter().filter(|(number, _)| *number > version) {
        sqlx::raw_sql(step).execute(&mut *connection).await.map_err(store_error)?;
    }
    // Both are numbers of this file.
    let header =
        format!("PRAGMA user_version = {}; PRAGMA application_id = {APPLICATION_ID}", newest_version());
    sqlx::raw_sql(AssertSqlSafe(header)).execute(&mut *connection).await.map(drop).map_err(store_error)
}

/// Returns the version of the database: 0 if it is empty.
async fn read_supported_version(connection: &mut SqliteConnection) -> Result<i64, SessionError> {
    let header = "SELECT a.application_id, u.user_version, (SELECT count(*) FROM sqlite_schema) \
                  FROM pragma_application_id AS a, pragma_user_version AS u";
    let row: (i64, i64, i64) = sqlx::query_as(header).fetch_one(connection).await.map_err(store_error)?;
    match row {
        (0, 0, 0) => Ok(0),
        (APPLICATION_ID, version, _) if version > newest_version() => {
            let version = |number| u32::try_from(number).unwrap_or(u32::MAX);
            Err(SessionError::NewerVersion { found: version(row.1), supported: version(newest_version()) })
        }
        (APPLICATION_ID, version, _) => Ok(version),
        _ => Err(SessionError::Failed(
            "the file is the database of another program; use another file".to_owned(),
        )),
    }
}
