//! Writes, each in a transaction that its store began.
//!
//! Rows are locked in one order, so that no two writes wait for each other: sessions, then the state of users, then the state of apps, then
//! open calls.

use std::time::SystemTime;

use serde_json::{Map, Value};

use super::{
    SqlConnection, SqlRow, SqlStatement,
    notes::delete_notes,
    open_calls::{delete_records_of_sessions, delete_records_of_user},
    rows::{SessionRow, add_user_and_app_state, entry_columns, find_and_lock_session, serialize_state},
    session_writes::insert_entries,
};
use crate::{
    JsonText, Lease, LeaseGrant, LeaseRequest, Retention, Session, SessionError, SessionExport, SessionKey,
    SessionOrigin, SessionSnapshot,
    lease::{StoredLease, usage_to_continue},
    millis,
    store::{already_exists_error, check_fork_position, not_found_error},
};

/// Grants a lease.
pub(crate) async fn acquire_lease<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
    request: &LeaseRequest,
    now: SystemTime,
) -> Result<LeaseGrant, SessionError> {
    let row = lock_or_insert_session(connection, key, request, now).await?;
    let SessionRow { row_id, session, state, lease: previous } = row;
    match (&previous, request.revision) {
        (Some(previous), _) => previous.check_takeover(request, session.revision, now)?,
        (None, Some(expected)) if expected != session.revision => {
            return Err(SessionError::RevisionChanged { expected, revision: session.revision });
        }
        (None, _) => {}
    }
    let epoch = connection.fetch_optional(SqlStatement::new(C::NEXT_EPOCH), |row| row.number(0)).await?;
    let epoch = epoch.ok_or_else(|| SessionError::Failed("the database has no epochs".to_owned()))?;
    let usage = usage_to_continue(previous.as_ref(), &request.run);
    let lease = StoredLease::of_request(request, epoch, now, usage);
    store_lease(connection, row_id, &lease).await?;
    let state = add_user_and_app_state(connection, key, state).await?;
    Ok(lease.to_grant(SessionSnapshot { session, state }, previous.as_ref()))
}

/// Finds the session that a lease is requested for, or makes it.
async fn lock_or_insert_session<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
    request: &LeaseRequest,
    now: SystemTime,
) -> Result<SessionRow, SessionError> {
    /// A session may be made by another process, and deleted again, between two statements.
    const MAX_ATTEMPTS: usize = 3;
    for _ in 0..MAX_ATTEMPTS {
        if let Some(row) = find_and_lock_session(connection, key).await? {
            return Ok(row);
        }
        if request.revision.is_some() {
            return Err(not_found_error(key));
        }
        let session = Session::new(key.clone(), now);
        if let Some(row_id) = insert_session_unless_exists(connection, &session, &Map::new()).await? {
            return Ok(SessionRow { row_id, session, state: Map::new(), lease: None });
        }
    }
    Err(SessionError::Unavailable(format!("the {key} is made and deleted by others; try again")))
}

/// Defers the expiry of a lease.
pub(crate) async fn renew_lease<C: SqlConnection>(
    connection: &mut C,
    lease: &Lease,
    now: SystemTime,
) -> Result<Lease, SessionError> {
    let (row, mut stored) = find_and_lock_lease(connection, lease).await?;
    stored.check_epoch_and_unreleased(lease)?;
    stored.extend_expiry(now);
    store_lease(connection, row.row_id, &stored).await?;
    Ok(stored.to_lease(&lease.key))
}

/// Releases a lease.
pub(crate) async fn release_lease<C: SqlConnection>(
    connection: &mut C,
    lease: &Lease,
) -> Result<(), SessionError> {
    let (row, mut stored) = find_and_lock_lease(connection, lease).await?;
    stored.check_epoch(lease)?;
    stored.is_released = true;
    store_lease(connection, row.row_id, &stored).await
}

/// Lets a lease expire.
pub(crate) async fn abandon_lease<C: SqlConnection>(
    connection: &mut C,
    lease: &Lease,
    now: SystemTime,
) -> Result<(), SessionError> {
    let (row, mut stored) = find_and_lock_lease(connection, lease).await?;
    stored.check_epoch(lease)?;
    stored.expire_now(now);
    store_lease(connection, row.row_id, &stored).await
}

/// Makes a session with the first entries of another one.
pub(crate) async fn fork_session<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
    last_entry: u64,
    fork: &SessionKey,
    now: SystemTime,
) -> Result<Session, SessionError> {
    let original = find_and_lock_session(connection, key).await?.ok_or_else(|| not_found_error(key))?;
    let mut session = Session::new(fork.clone(), now);
    session.title.clone_from(&original.session.title);
    session.origin = Some(SessionOrigin { id: key.id().into(), entry: last_entry });
    (session.revision, session.entries) = (1, last_entry);
    let row_id = insert_session_unless_exists(connection, &session, &Map::new()).await?;
    let row_id = row_id.ok_or_else(|| already_exists_error(fork))?;
    check_fork_position(original.session.entries, last_entry)?;
    let copy = concat!(
        "INSERT INTO entries (session, ",
        entry_columns!(),
        ") SELECT ?1, ",
        entry_columns!(),
        " FROM entries WHERE session = ?2 AND number <= ?3"
    );
    connection.execute(SqlStatement::new(copy).bind(row_id).bind(original.row_id).bind(last_entry)).await?;
    Ok(session)
}

/// Deletes a session; its entries and its open calls go with it.
pub(crate) async fn delete_session<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
) -> Result<bool, SessionError> {
    let delete = SqlStatement::new("DELETE FROM sessions WHERE app = ?1 AND user_id = ?2 AND id = ?3");
    let count = connection.execute(delete.bind(key.app()).bind(key.user()).bind(key.id())).await?;
    let session = (key.user().to_owned(), key.id().to_owned());
    delete_records_of_sessions(connection, key.app(), &[session]).await?;
    Ok(count > 0)
}

/// Deletes the sessions, the state, the open calls, the notes and the artifacts of a user.
pub(crate) async fn delete_user<C: SqlConnection>(
    connection: &mut C,
    app: &str,
    user: &str,
) -> Result<u64, SessionError> {
    let sessions = SqlStatement::new("DELETE FROM sessions WHERE app = ?1 AND user_id = ?2");
    let count = connection.execute(sessions.bind(app).bind(user)).await?;
    let state =
        SqlStatement::new("DELETE FROM shared_state WHERE app = ?1 AND scope = 'user' AND user_id = ?2");
    connection.execute(state.bind(app).bind(user)).await?;
    delete_records_of_user(connection, app, user).await?;
    delete_notes(connection, app, user).await?;
    let artifacts = SqlStatement::new("DELETE FROM artifacts WHERE app = ?1 AND user_id = ?2");
    connection.execute(artifacts.bind(app).bind(user)).await?;
    Ok(count)
}

/// Deletes the sessions that a retention does not keep.
///
/// A session that a run takes or changes meanwhile stays: its row is compared again after its lock.
pub(crate) async fn prune_sessions<C: SqlConnection>(
    connection: &mut C,
    retention: &Retention,
    now: SystemTime,
) -> Result<u64, SessionError> {
    let oldest = retention.max_age.and_then(|age| now.checked_sub(age)).map_or(i64::MIN, millis::from_time);
    let max_sessions = retention.max_sessions.map_or(i64::MAX, i64::from);
    let delete = "DELETE FROM sessions WHERE (row_id, updated_at) IN ( \
                  SELECT row_id, updated_at FROM ( \
                  SELECT row_id, updated_at, \
                  row_number() OVER (PARTITION BY user_id ORDER BY updated_at DESC, id DESC) AS user_rank \
                  FROM sessions WHERE app = ?1) AS ranked \
                  WHERE user_rank > ?2 OR updated_at < ?3) \
                  AND NOT (coalesce(lease_released, 1) = 0 AND lease_expires_at > ?4) \
                  RETURNING user_id, id";
    let delete = SqlStatement::new(delete).bind(&*retention.app).bind(max_sessions);
    let delete = delete.bind(oldest).bind(millis::from_time(now));
    let deleted = connection.fetch_all(delete, |row| Ok((row.text(0)?, row.text(1)?))).await?;
    delete_records_of_sessions(connection, &retention.app, &deleted).await?;
    Ok(u64::try_from(deleted.len()).unwrap_or(u64::MAX))
}

/// Adds exported sessions.
pub(crate) async fn import_sessions<C: SqlConnection>(
    connection: &mut C,
    exports: &[SessionExport],
) -> Result<(), SessionError> {
    // In one order, so that two imports do not wait for each other.
    let mut exports: Vec<_> = exports.iter().collect();
    exports.sort_unstable_by(|one, other| one.session.key.cmp(&other.session.key));
    for SessionExport { session, state, entries } in exports {
        let row_id = insert_session_unless_exists(connection, session, state).await?;
        let row_id = row_id.ok_or_else(|| already_exists_error(&session.key))?;
        let rows = (1..).zip(entries).map(|(number, entry)| (row_id, number, &entry.content));
        insert_entries(connection, rows).await?;
    }
    Ok(())
}

/// Finds the session of `lease`, and its last lease, which no other transaction changes.
async fn find_and_lock_lease<C: SqlConnection>(
    connection: &mut C,
    lease: &Lease,
) -> Result<(SessionRow, StoredLease), SessionError> {
    let mut row =
        find_and_lock_session(connection, &lease.key).await?.ok_or_else(|| not_found_error(&lease.key))?;
    let stored = row.lease.take().ok_or_else(|| not_found_error(&lease.key))?;
    Ok((row, stored))
}

async fn store_lease<C: SqlConnection>(
    connection: &mut C,
    row_id: i64,
    lease: &StoredLease,
) -> Result<(), SessionError> {
    let update = "UPDATE sessions SET lease_run = ?2, lease_holder = ?3, lease_epoch = ?4, lease_expires_at = ?5, \
                  lease_duration = ?6, lease_released = ?7, lease_usage = ?8 WHERE row_id = ?1";
    let update = SqlStatement::new(update).bind(row_id).bind(lease.run.to_string()).bind(&*lease.holder);
    let update = update.bind(lease.epoch).bind(millis::from_time(lease.expires_at));
    let update = update.bind(millis::from_duration(lease.duration)).bind(i64::from(lease.is_released));
    connection.execute(update.bind(lease.usage.as_ref().map(JsonText::as_str))).await.map(drop)
}

/// Adds the row of a session; `None` if there is a session of its key.
async fn insert_session_unless_exists<C: SqlConnection>(
    connection: &mut C,
    session: &Session,
    state: &Map<String, Value>,
) -> Result<Option<i64>, SessionError> {
    let insert = "INSERT INTO sessions (app, user_id, id, revision, entries, title, created_at, updated_at, origin_id, \
                  origin_entry, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
                  ON CONFLICT (app, user_id, id) DO NOTHING RETURNING row_id";
    let Session { key, revision, entries, title, created_at, updated_at, origin } = session;
    let insert = SqlStatement::new(insert).bind(key.app()).bind(key.user()).bind(key.id());
    let insert = insert.bind(*revision).bind(*entries).bind(title.as_deref());
    let insert = insert.bind(millis::from_time(*created_at)).bind(millis::from_time(*updated_at));
    let insert = insert.bind(origin.as_ref().map(|origin| &*origin.id));
    let insert = insert.bind(origin.as_ref().map(|origin| super::sql_integer(origin.entry)));
    connection.fetch_optional(insert.bind(serialize_state(state)?), |row| row.integer(0)).await
}
