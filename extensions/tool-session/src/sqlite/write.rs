//! Operations of the writer, each in a transaction that it did not begin.

use std::time::SystemTime;

use serde_json::{Map, Value};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{
    error::store_error,
    rows::{SessionRow, entry_columns, entry_of, find_session, load_state, sql_integer},
};
use crate::{
    EntryContent, JsonText, Lease, LeaseGrant, LeaseRequest, Retention, ScopedState, Session, SessionError,
    SessionExport, SessionKey, SessionOrigin, SessionSnapshot, SessionVersion, SessionWrite,
    lease::{StoredLease, continued_usage},
    millis,
    state::apply_changes,
    store::{already_exists, check_fork, not_found},
    write::has_effect_of,
};

/// The maximum number of rows of one statement: SQLite takes 32,766 values.
const MAX_STATEMENT_ROWS: usize = 1000;

/// Grants a lease.
pub(super) async fn acquire_lease(
    connection: &mut SqliteConnection,
    key: &SessionKey,
    request: &LeaseRequest,
    now: SystemTime,
) -> Result<LeaseGrant, SessionError> {
    let row = match find_session(connection, key).await? {
        Some(row) => row,
        None if request.revision.is_some() => return Err(not_found(key)),
        None => {
            let session = Session::new(key.clone(), now);
            let row_id = insert_session(connection, &session, &Map::new()).await?;
            SessionRow { row_id, session, state: Map::new(), lease: None }
        }
    };
    let SessionRow { row_id, session, state, lease: previous } = row;
    match (&previous, request.revision) {
        (Some(previous), _) => previous.check_request(request, session.revision, now)?,
        (None, Some(expected)) if expected != session.revision => {
            return Err(SessionError::RevisionChanged { expected, revision: session.revision });
        }
        (None, _) => {}
    }
    let epoch: i64 = sqlx::query_scalar("UPDATE epochs SET last = last + 1 RETURNING last")
        .fetch_one(&mut *connection)
        .await
        .map_err(store_error)?;
    let usage = continued_usage(previous.as_ref(), &request.run);
    let lease = StoredLease::of_request(request, u64::try_from(epoch).unwrap_or_default(), now, usage);
    store_lease(connection, row_id, &lease).await?;
    let state = load_state(connection, key, state).await?;
    Ok(lease.grant(SessionSnapshot { session, state }, previous.as_ref()))
}

/// Defers the expiry of a lease.
pub(super) async fn renew_lease(
    connection: &mut SqliteConnection,
    lease: &Lease,
    now: SystemTime,
) -> Result<Lease, SessionError> {
    let (row, mut stored) = find_lease(connection, lease).await?;
    stored.check_holder(lease)?;
    stored.renew(now);
    store_lease(connection, row.row_id, &stored).await?;
    Ok(stored.lease(&lease.key))
}

/// Releases a lease.
pub(super) async fn release_lease(
    connection: &mut SqliteConnection,
    lease: &Lease,
) -> Result<(), SessionError> {
    let (row, mut stored) = find_lease(connection, lease).await?;
    stored.check_epoch(lease)?;
    stored.is_released = true;
    store_lease(connection, row.row_id, &stored).await
}

/// Applies a write.
pub(super) async fn apply_write(
    connection: &mut SqliteConnection,
    lease: &Lease,
    write: &SessionWrite,
    now: SystemTime,
) -> Result<SessionVersion, SessionError> {
    let (row, mut stored) = find_lease(connection, lease).await?;
    let SessionRow { row_id, mut session, mut state, .. } = row;
    stored.check_epoch(lease)?;
    if write.revision.checked_add(1) == Some(session.revision) && !write.entries.is_empty() {
        let last = last_contents(connection, row_id, write.entries.len()).await?;
        if has_effect_of(write, session.revision, &last) {
            return Ok(SessionVersion { revision: session.revision, entries: session.entries });
        }
    }
    stored.check_holder(lease)?;
    if session.revision != write.revision {
        let (expected, revision) = (write.revision, session.revision);
        return Err(SessionError::RevisionChanged { expected, revision });
    }
    insert_entries(connection, row_id, session.entries, &write.entries).await?;
    apply_changes(&mut state, &write.state.session);
    change_shared_state(connection, &lease.key, &write.state).await?;
    stored.renew(now);
    stored.is_released = write.ends_run;
    if write.usage.is_some() {
        stored.usage.clone_from(&write.usage);
    }
    store_lease(connection, row_id, &stored).await?;
    session.revision += 1;
    session.entries += u64::try_from(write.entries.len()).unwrap_or_default();
    let update = "UPDATE sessions SET revision = ?2, entries = ?3, title = coalesce(?4, title), updated_at = ?5, state = ?6 \
                  WHERE row_id = ?1";
    let update = sqlx::query(update)
        .bind(row_id)
        .bind(sql_integer(session.revision))
        .bind(sql_integer(session.entries));
    let update = update.bind(write.title.as_deref()).bind(millis::of(now)).bind(state_text(&state)?);
    update.execute(connection).await.map_err(store_error)?;
    Ok(SessionVersion { revision: session.revision, entries: session.entries })
}

/// Makes a session with the first entries of another one.
pub(super) async fn fork_session(
    connection: &mut SqliteConnection,
    key: &SessionKey,
    last_entry: u64,
    fork: &SessionKey,
    now: SystemTime,
) -> Result<Session, SessionError> {
    let original = find_session(connection, key).await?.ok_or_else(|| not_found(key))?;
    if find_session(connection, fork).await?.is_some() {
        return Err(already_exists(fork));
    }
    check_fork(original.session.entries, last_entry)?;
    let mut session = Session::new(fork.clone(), now);
    session.title.clone_from(&original.session.title);
    session.origin = Some(SessionOrigin { id: key.id().into(), entry: last_entry });
    (session.revision, session.entries) = (1, last_entry);
    let row_id = insert_session(connection, &session, &Map::new()).await?;
    let copy = concat!(
        "INSERT INTO entries (session, ",
        entry_columns!(),
        ") SELECT ?1, ",
        entry_columns!(),
        " FROM entries WHERE session = ?2 AND number <= ?3"
    );
    let copy = sqlx::query(copy).bind(row_id).bind(original.row_id).bind(sql_integer(last_entry));
    copy.execute(connection).await.map_err(store_error)?;
    Ok(session)
}

/// Deletes a session; its entries go with it.
pub(super) async fn delete_session(
    connection: &mut SqliteConnection,
    key: &SessionKey,
) -> Result<bool, SessionError> {
    let query = sqlx::query("DELETE FROM sessions WHERE app = ?1 AND user_id = ?2 AND id = ?3");
    let query = query.bind(key.app()).bind(key.user()).bind(key.id());
    Ok(query.execute(connection).await.map_err(store_error)?.rows_affected() > 0)
}

/// Deletes the sessions and the state of a user.
pub(super) async fn delete_user(
    connection: &mut SqliteConnection,
    app: &str,
    user: &str,
) -> Result<u64, SessionError> {
    let state = sqlx::query("DELETE FROM shared_state WHERE app = ?1 AND scope = 'user' AND user_id = ?2");
    state.bind(app).bind(user).execute(&mut *connection).await.map_err(store_error)?;
    let sessions = sqlx::query("DELETE FROM sessions WHERE app = ?1 AND user_id = ?2").bind(app).bind(user);
    Ok(sessions.execute(connection).await.map_err(store_error)?.rows_affected())
}

/// Deletes the sessions that a retention does not keep.
pub(super) async fn prune_sessions(
    connection: &mut SqliteConnection,
    retention: &Retention,
    now: SystemTime,
) -> Result<u64, SessionError> {
    let oldest = retention.max_age.and_then(|age| now.checked_sub(age)).map_or(i64::MIN, millis::of);
    let max_sessions = retention.max_sessions.map_or(i64::MAX, i64::from);
    let query = "DELETE FROM sessions WHERE row_id IN ( \
                 SELECT row_id FROM ( \
                 SELECT row_id, updated_at, lease_released, lease_expires_at, \
                 row_number() OVER (PARTITION BY user_id ORDER BY updated_at DESC, id DESC) AS position \
                 FROM sessions WHERE app = ?1) \
                 WHERE (position > ?2 OR updated_at < ?3) \
                 AND NOT (lease_released IS 0 AND lease_expires_at > ?4))";
    let query =
        sqlx::query(query).bind(&*retention.app).bind(max_sessions).bind(oldest).bind(millis::of(now));
    Ok(query.execute(connection).await.map_err(store_error)?.rows_affected())
}

/// Adds exported sessions.
pub(super) async fn import_sessions(
    connection: &mut SqliteConnection,
    exports: &[SessionExport],
) -> Result<(), SessionError> {
    for SessionExport { session, state, entries } in exports {
        if find_session(connection, &session.key).await?.is_some() {
            return Err(already_exists(&session.key));
        }
        let row_id = insert_session(connection, session, state).await?;
        insert_entries(connection, row_id, 0, entries.iter().map(|entry| &entry.content)).await?;
    }
    Ok(())
}

/// Finds the session of `lease`, and its last lease.
async fn find_lease(
    connection: &mut SqliteConnection,
    lease: &Lease,
) -> Result<(SessionRow, StoredLease), SessionError> {
    let mut row = find_session(connection, &lease.key).await?.ok_or_else(|| not_found(&lease.key))?;
    let stored = row.lease.take().ok_or_else(|| not_found(&lease.key))?;
    Ok((row, stored))
}

async fn store_lease(
    connection: &mut SqliteConnection,
    row_id: i64,
    lease: &StoredLease,
) -> Result<(), SessionError> {
    let update = "UPDATE sessions SET lease_run = ?2, lease_holder = ?3, lease_epoch = ?4, lease_expires_at = ?5, \
                  lease_duration = ?6, lease_released = ?7, lease_usage = ?8 WHERE row_id = ?1";
    let update = sqlx::query(update).bind(row_id).bind(lease.run.to_string()).bind(&*lease.holder);
    let update = update
        .bind(sql_integer(lease.epoch))
        .bind(millis::of(lease.expires_at))
        .bind(millis::length(lease.duration));
    let update = update.bind(i64::from(lease.is_released)).bind(lease.usage.as_ref().map(JsonText::as_str));
    update.execute(connection).await.map(drop).map_err(store_error)
}

async fn insert_session(
    connection: &mut SqliteConnection,
    session: &Session,
    state: &Map<String, Value>,
) -> Result<i64, SessionError> {
    let insert = "INSERT INTO sessions (app, user_id, id, revision, entries, title, created_at, updated_at, origin_id, \
                  origin_entry, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let Session { key, revision, entries, title, created_at, updated_at, origin } = session;
    let insert =
        sqlx::query(insert).bind(key.app()).bind(key.user()).bind(key.id()).bind(sql_integer(*revision));
    let insert = insert.bind(sql_integer(*entries)).bind(title.as_deref()).bind(millis::of(*created_at));
    let insert = insert.bind(millis::of(*updated_at)).bind(origin.as_ref().map(|origin| &*origin.id));
    let insert =
        insert.bind(origin.as_ref().map(|origin| sql_integer(origin.entry))).bind(state_text(state)?);
    Ok(insert.execute(connection).await.map_err(store_error)?.last_insert_rowid())
}

/// Adds entries behind the first `count` ones.
async fn insert_entries<'a>(
    connection: &mut SqliteConnection,
    row_id: i64,
    count: u64,
    contents: impl IntoIterator<Item = &'a EntryContent>,
) -> Result<(), SessionError> {
    let contents: Vec<_> = (sql_integer(count) + 1..).zip(contents).collect();
    for rows in contents.chunks(MAX_STATEMENT_ROWS) {
        let mut insert =
            QueryBuilder::<Sqlite>::new(concat!("INSERT INTO entries (session, ", entry_columns!(), ") "));
        let outer_calls =
            rows.iter().map(|(_, content)| content.outer_call.as_ref().map(JsonText::of).transpose());
        let outer_calls: Vec<_> = outer_calls.collect::<Result<_, _>>()?;
        insert.push_values(rows.iter().zip(&outer_calls), |mut row, ((number, content), outer_call)| {
            row.push_bind(row_id).push_bind(*number).push_bind(millis::of(content.time));
            row.push_bind(content.run.to_string())
                .push_bind(content.parent_run.as_ref().map(ToString::to_string));
            row.push_bind(content.agent.as_deref()).push_bind(content.branch.as_deref());
            row.push_bind(content.view.as_deref()).push_bind(outer_call.as_ref().map(JsonText::as_str));
            row.push_bind(&*content.kind).push_bind(content.body.as_str());
        });
        insert.build().execute(&mut *connection).await.map_err(store_error)?;
    }
    Ok(())
}

/// Reads the contents of the last `count` entries, in order.
async fn last_contents(
    connection: &mut SqliteConnection,
    row_id: i64,
    count: usize,
) -> Result<Vec<EntryContent>, SessionError> {
    let query = concat!(
        "SELECT ",
        entry_columns!(),
        " FROM entries WHERE session = ?1 ORDER BY number DESC LIMIT ?2"
    );
    let query = sqlx::query(query).bind(row_id).bind(i64::try_from(count).unwrap_or(i64::MAX));
    let rows = query.fetch_all(connection).await.map_err(store_error)?;
    rows.iter().rev().map(|row| entry_of(row).map(|entry| entry.content)).collect()
}

async fn change_shared_state(
    connection: &mut SqliteConnection,
    key: &SessionKey,
    changes: &ScopedState,
) -> Result<(), SessionError> {
    if changes.user.is_empty() && changes.app.is_empty() {
        return Ok(());
    }
    let mut state = load_state(connection, key, Map::new()).await?;
    for (scope, user, values, changes) in
        [("user", key.user(), &mut state.user, &changes.user), ("app", "", &mut state.app, &changes.app)]
    {
        if changes.is_empty() {
            continue;
        }
        apply_changes(values, changes);
        let upsert = "INSERT INTO shared_state (app, scope, user_id, state) VALUES (?1, ?2, ?3, ?4) \
                      ON CONFLICT (app, scope, user_id) DO UPDATE SET state = excluded.state";
        let upsert = sqlx::query(upsert).bind(key.app()).bind(scope).bind(user).bind(state_text(values)?);
        upsert.execute(&mut *connection).await.map_err(store_error)?;
    }
    Ok(())
}

fn state_text(state: &Map<String, Value>) -> Result<String, SessionError> {
    JsonText::of(state).map(|text| text.as_str().to_owned())
}
