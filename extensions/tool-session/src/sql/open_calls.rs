//! Open calls of `tool-runtime`: opaque records, and hashes of what a filter selects by.
//!
//! Ids of calls have any length and any characters, so that columns hold their hashes. A consumed record stays, marked, for the time in which
//! a run may ask whether its call has started; it is never returned.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use tool_runtime::{
    call::CallAddress,
    definition::ContentHash,
    open_calls::{OpenFilter, OpenRecord, OpenStoreError},
};

use super::{SqlConnection, SqlRow, SqlStatement};
use crate::{SessionError, millis};

/// The time for which consumed and expired records are kept: 30 days.
const RETENTION: Duration = Duration::from_secs(30 * 86_400);

/// The first characters of the query of records.
const SELECT_OPEN_RECORDS: &str = "SELECT record FROM open_calls WHERE consumed_at IS NULL";

/// Stores a record; returns `false` if there is an open one of its address. Removes records that ended long ago.
pub(crate) async fn remove_old_and_insert_unless_open<C: SqlConnection>(
    connection: &mut C,
    record: &OpenRecord,
    now: SystemTime,
) -> Result<bool, SessionError> {
    let oldest = millis::from_time(now.checked_sub(RETENTION).unwrap_or(SystemTime::UNIX_EPOCH));
    for delete in
        ["DELETE FROM open_calls WHERE consumed_at < ?1", "DELETE FROM open_calls WHERE expires_at < ?1"]
    {
        connection.execute(SqlStatement::new(delete).bind(oldest)).await?;
    }
    // A consumed record of the address was another question about the call.
    let insert = "INSERT INTO open_calls (address_hash, run_hash, call_hash, app_hash, user_hash, session_hash, tag, \
                  expires_at, consumed_at, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, ?9) \
                  ON CONFLICT (address_hash) DO UPDATE SET app_hash = excluded.app_hash, user_hash = excluded.user_hash, \
                  session_hash = excluded.session_hash, tag = excluded.tag, expires_at = excluded.expires_at, \
                  consumed_at = NULL, record = excluded.record WHERE open_calls.consumed_at IS NOT NULL";
    Ok(connection.execute(bind_record(SqlStatement::new(insert), record)?).await? > 0)
}

/// Replaces an open record by one of the same address; returns `false` if it is not open.
pub(crate) async fn replace_open_record<C: SqlConnection>(
    connection: &mut C,
    record: &OpenRecord,
    replacement: &OpenRecord,
) -> Result<bool, SessionError> {
    let update = "UPDATE open_calls SET run_hash = ?2, call_hash = ?3, app_hash = ?4, user_hash = ?5, session_hash = ?6, tag = ?7, \
                  expires_at = ?8, record = ?9 WHERE address_hash = ?1 AND tag = ?10 AND consumed_at IS NULL";
    let update = bind_record(SqlStatement::new(update), replacement)?;
    Ok(connection.execute(update.bind(record.tag.to_string())).await? > 0)
}

/// Binds the columns of a record to the first nine parameters, but for `consumed_at`.
fn bind_record<'a>(
    statement: SqlStatement<'a>,
    record: &OpenRecord,
) -> Result<SqlStatement<'a>, SessionError> {
    let address = &record.address;
    let text = serde_json::to_string(record)
        .map_err(|error| SessionError::Invalid(format!("the open call is not JSON: {error}")))?;
    let statement = statement
        .bind(content_hash_text(address))
        .bind(address.run.as_ref().map(content_hash_text))
        .bind(content_hash_text(&address.call_id))
        .bind(hash_of_optional_name(record.app.as_deref()))
        .bind(hash_of_optional_name(record.user.as_deref()))
        .bind(record.session.as_ref().map(content_hash_text));
    Ok(statement.bind(record.tag.to_string()).bind(record.expires_at.map(millis::from_time)).bind(text))
}

/// Reads the open record of an address.
pub(crate) async fn read_open_record<C: SqlConnection>(
    connection: &mut C,
    address: &CallAddress,
) -> Result<Option<OpenRecord>, SessionError> {
    let mut query = SqlStatement::new(SELECT_OPEN_RECORDS);
    query.push_sql(" AND address_hash = ").push_value(content_hash_text(address));
    let text = connection.fetch_optional(query, |row| row.text(0)).await?;
    text.as_deref().map(parse_record).transpose()
}

/// Reads the open records that a filter admits. A record that was altered beyond JSON is left out, with a warning.
pub(crate) async fn read_open_records<C: SqlConnection>(
    connection: &mut C,
    filter: &OpenFilter,
) -> Result<Vec<OpenRecord>, SessionError> {
    let mut query = SqlStatement::new(SELECT_OPEN_RECORDS);
    if let Some(run) = &filter.run {
        query.push_sql(" AND run_hash = ").push_value(content_hash_text(run));
    }
    if let Some(id) = &filter.call_id {
        query.push_sql(" AND call_hash = ").push_value(content_hash_text(id));
    }
    let names = [
        (" AND app_hash = ", &filter.app),
        (" AND user_hash = ", &filter.user),
        (" AND session_hash = ", &filter.session),
    ];
    for (condition, name) in names {
        if let Some(name) = name {
            query.push_sql(condition).push_value(content_hash_text(name));
        }
    }
    let records = connection.fetch_all(query, |row| row.text(0).map(|text| parse_record(&text))).await?;
    let records = records.into_iter().filter_map(|record| {
        record.inspect_err(|error| tracing::warn!(%error, "an open call is not listed")).ok()
    });
    Ok(records.filter(|record| filter.admits(record)).collect())
}

/// Marks a record as consumed; returns `true` if it was open.
pub(crate) async fn mark_record_consumed<C: SqlConnection>(
    connection: &mut C,
    record: &OpenRecord,
    now: SystemTime,
) -> Result<bool, SessionError> {
    let update =
        "UPDATE open_calls SET consumed_at = ?3 WHERE address_hash = ?1 AND tag = ?2 AND consumed_at IS NULL";
    let update =
        SqlStatement::new(update).bind(content_hash_text(&record.address)).bind(record.tag.to_string());
    Ok(connection.execute(update.bind(millis::from_time(now))).await? > 0)
}

/// Deletes the records of sessions, given by user and id.
pub(super) async fn delete_records_of_sessions<C: SqlConnection>(
    connection: &mut C,
    app: &str,
    sessions: &[(String, String)],
) -> Result<(), SessionError> {
    for sessions in sessions.chunks(C::MAX_ROWS) {
        let delete = "DELETE FROM open_calls WHERE app_hash = ?1 AND (user_hash, session_hash) IN (VALUES ";
        let mut delete = SqlStatement::new(delete).bind(hash_of_optional_name(Some(app)));
        delete.push_rows(
            sessions.iter().map(|(user, id)| [content_hash_text(user).into(), content_hash_text(id).into()]),
        );
        delete.push_sql(")");
        connection.execute(delete).await?;
    }
    Ok(())
}

/// Deletes the records of a user, in and outside of sessions.
pub(super) async fn delete_records_of_user<C: SqlConnection>(
    connection: &mut C,
    app: &str,
    user: &str,
) -> Result<(), SessionError> {
    let delete = SqlStatement::new("DELETE FROM open_calls WHERE app_hash = ?1 AND user_hash = ?2");
    connection
        .execute(delete.bind(hash_of_optional_name(Some(app))).bind(hash_of_optional_name(Some(user))))
        .await
        .map(drop)
}

/// Returns the hash of an app or a user; an absent one counts as an empty one.
fn hash_of_optional_name(name: Option<&str>) -> String {
    content_hash_text(name.unwrap_or_default())
}

fn content_hash_text(value: &(impl Serialize + ?Sized)) -> String {
    ContentHash::of(value).to_string()
}

fn parse_record(text: &str) -> Result<OpenRecord, SessionError> {
    serde_json::from_str(text)
        .map_err(|error| SessionError::Failed(format!("the stored open call is not valid: {error}")))
}

/// Converts an error for executors.
pub(crate) fn open_store_error(error: SessionError) -> OpenStoreError {
    OpenStoreError::Failed(error.to_string())
}

/// Returns the result of [`remove_old_and_insert_unless_open`] for executors.
pub(crate) fn exists_error_unless_inserted(result: Result<bool, SessionError>) -> Result<(), OpenStoreError> {
    match result {
        Ok(true) => Ok(()),
        Ok(false) => Err(OpenStoreError::Exists),
        Err(error) => Err(open_store_error(error)),
    }
}
