//! The writes of runs: of one session, or of many in the same statements.

use std::time::SystemTime;

use tool_runtime::context::merge_patch;

use super::{
    SqlConnection, SqlRow, SqlStatement, SqlValue,
    rows::{SessionRow, entry_columns, find_and_lock_sessions, parse_state, read_entry_row, serialize_state},
    sql_limit,
};
use crate::{
    EntryContent, JsonText, Lease, ScopedState, SessionError, SessionKey, SessionVersion, SessionWrite,
    lease::StoredLease, millis, store::not_found_error, write::is_already_applied,
};

/// Applies a write.
#[cfg(feature = "postgres")]
pub(crate) async fn apply_write<C: SqlConnection>(
    connection: &mut C,
    lease: &Lease,
    write: &SessionWrite,
    now: SystemTime,
) -> Result<SessionVersion, SessionError> {
    let results = apply_writes(connection, &[(lease, write)], now).await?;
    results.into_iter().next().unwrap_or_else(|| Err(not_found_error(&lease.key)))
}

/// Applies writes of different sessions; one that is refused leaves its session as it is, and the others apply.
///
/// # Errors
///
/// Returns an error of the database, after which the transaction must be rolled back.
pub(crate) async fn apply_writes<C: SqlConnection>(
    connection: &mut C,
    writes: &[(&Lease, &SessionWrite)],
    now: SystemTime,
) -> Result<Vec<Result<SessionVersion, SessionError>>, SessionError> {
    let keys: Vec<_> = writes.iter().map(|(lease, _)| &lease.key).collect();
    let mut rows = find_and_lock_sessions(connection, &keys).await?;
    let (mut results, mut changes) = (Vec::with_capacity(writes.len()), Vec::with_capacity(writes.len()));
    for &(lease, write) in writes {
        let Some(row) = rows.remove(&lease.key) else {
            results.push(Err(not_found_error(&lease.key)));
            continue;
        };
        if let Some(version) = version_if_already_applied(connection, &row, lease, write).await? {
            results.push(Ok(version));
            continue;
        }
        results.push(checked_session_change(row, lease, write, now).map(|change| {
            let version = change.version;
            changes.push(change);
            version
        }));
    }
    remove_views(connection, &changes).await?;
    insert_entries(connection, changes.iter().flat_map(ChangedSession::keyed_entries)).await?;
    store_changed_sessions(connection, &changes).await?;
    // The rows that other sessions wait for are locked last.
    for change in &changes {
        patch_shared_state(connection, change.key, &change.write.state).await?;
    }
    Ok(results)
}

/// Returns the version of a session that has the effect of `write` already, whose answer its run did not receive.
async fn version_if_already_applied<C: SqlConnection>(
    connection: &mut C,
    row: &SessionRow,
    lease: &Lease,
    write: &SessionWrite,
) -> Result<Option<SessionVersion>, SessionError> {
    let SessionRow { row_id, session, lease: stored, .. } = row;
    let is_of_lease = stored.as_ref().is_some_and(|stored| stored.check_epoch(lease).is_ok());
    let is_next = write.revision.checked_add(1) == Some(session.revision);
    if !is_of_lease || !is_next || write.entries.is_empty() {
        return Ok(None);
    }
    let last = read_last_contents(connection, *row_id, write.entries.len()).await?;
    let version = SessionVersion { revision: session.revision, entries: session.entries };
    Ok(is_already_applied(write, session.revision, &last).then_some(version))
}

/// A session as a write changes it.
struct ChangedSession<'a> {
    row_id: i64,
    key: &'a SessionKey,
    write: &'a SessionWrite,
    version: SessionVersion,
    /// The number of entries before the write.
    previous_entries: u64,
    changed_at: SystemTime,
    state: String,
    lease: StoredLease,
}

/// Checks a write, and returns the session as the write changes it.
fn checked_session_change<'a>(
    row: SessionRow,
    lease: &'a Lease,
    write: &'a SessionWrite,
    now: SystemTime,
) -> Result<ChangedSession<'a>, SessionError> {
    let SessionRow { row_id, session, mut state, lease: stored } = row;
    let mut stored = stored.ok_or_else(|| not_found_error(&lease.key))?;
    stored.check_epoch_and_unreleased(lease)?;
    if session.revision != write.revision {
        let (expected, revision) = (write.revision, session.revision);
        return Err(SessionError::RevisionChanged { expected, revision });
    }
    merge_patch(&mut state, &write.state.session);
    stored.extend_expiry(now);
    stored.is_released = write.ends_run;
    if write.usage.is_some() {
        stored.usage.clone_from(&write.usage);
    }
    let entries = session.entries + u64::try_from(write.entries.len()).unwrap_or_default();
    Ok(ChangedSession {
        row_id,
        key: &lease.key,
        write,
        version: SessionVersion { revision: session.revision + 1, entries },
        previous_entries: session.entries,
        changed_at: now,
        state: serialize_state(&state)?,
        lease: stored,
    })
}

impl ChangedSession<'_> {
    /// Returns the new entries: the row of the session, their numbers and contents.
    fn keyed_entries(&self) -> impl Iterator<Item = (i64, u64, &EntryContent)> {
        let numbers = self.previous_entries + 1..;
        numbers.zip(&self.write.entries).map(|(number, content)| (self.row_id, number, content))
    }

    /// Returns the values of the columns that the write changes, behind the row.
    fn column_values(&self) -> [SqlValue<'_>; 9] {
        [
            self.row_id.into(),
            self.version.revision.into(),
            self.version.entries.into(),
            self.write.title.as_deref().into(),
            millis::from_time(self.changed_at).into(),
            self.state.as_str().into(),
            millis::from_time(self.lease.expires_at).into(),
            i64::from(self.lease.is_released).into(),
            self.lease.usage.as_ref().map(JsonText::as_str).into(),
        ]
    }
}

async fn store_changed_sessions<C: SqlConnection>(
    connection: &mut C,
    changes: &[ChangedSession<'_>],
) -> Result<(), SessionError> {
    const UPDATE_ONE: &str = "UPDATE sessions SET revision = ?2, entries = ?3, title = coalesce(?4, title), updated_at = ?5, \
                              state = ?6, lease_expires_at = ?7, lease_released = ?8, lease_usage = ?9 WHERE row_id = ?1";
    const UPDATE_MANY: &str = "UPDATE sessions SET revision = changed.column2, entries = changed.column3, \
                               title = coalesce(changed.column4, title), updated_at = changed.column5, \
                               state = changed.column6, lease_expires_at = changed.column7, \
                               lease_released = changed.column8, lease_usage = changed.column9 FROM (VALUES ";
    for changes in changes.chunks(C::MAX_ROWS) {
        let update = if let [change] = changes {
            change.column_values().into_iter().fold(SqlStatement::new(UPDATE_ONE), SqlStatement::bind)
        } else {
            let mut update = SqlStatement::new(UPDATE_MANY);
            update.push_rows(changes.iter().map(ChangedSession::column_values));
            update.push_sql(") AS changed WHERE sessions.row_id = changed.column1");
            update
        };
        connection.execute(update).await?;
    }
    Ok(())
}

/// Removes the entries of views, which have been there before.
async fn remove_views<C: SqlConnection>(
    connection: &mut C,
    changes: &[ChangedSession<'_>],
) -> Result<(), SessionError> {
    const REMOVE: &str = "UPDATE entries SET kind = ?1, body = 'null' WHERE session = ?2 AND kind <> ?1 \
                          AND (view = ?3 OR substr(view, 1, length(?4)) = ?4)";
    for change in changes {
        for view in &change.write.removed_views {
            let remove = SqlStatement::new(REMOVE).bind(EntryContent::REMOVED).bind(change.row_id);
            connection.execute(remove.bind(&**view).bind(format!("{view}/"))).await?;
        }
    }
    Ok(())
}

/// Adds entries: the rows of their sessions, their numbers and contents.
pub(super) async fn insert_entries<'a, C: SqlConnection>(
    connection: &mut C,
    entries: impl IntoIterator<Item = (i64, u64, &'a EntryContent)>,
) -> Result<(), SessionError> {
    let entries: Vec<_> = entries.into_iter().collect();
    for entries in entries.chunks(C::MAX_ROWS) {
        let mut insert =
            SqlStatement::new(concat!("INSERT INTO entries (session, ", entry_columns!(), ") VALUES "));
        let rows =
            entries.iter().map(|(row_id, number, content)| entry_column_values(*row_id, *number, content));
        insert.push_rows(rows.collect::<Result<Vec<_>, _>>()?);
        connection.execute(insert).await?;
    }
    Ok(())
}

/// Returns the values of the row of an entry.
fn entry_column_values(
    row_id: i64,
    number: u64,
    content: &EntryContent,
) -> Result<[SqlValue<'_>; 11], SessionError> {
    let outer_call = content.outer_call.as_ref().map(JsonText::of).transpose()?;
    Ok([
        row_id.into(),
        number.into(),
        millis::from_time(content.time).into(),
        content.run.to_string().into(),
        content.parent_run.as_ref().map(ToString::to_string).into(),
        content.agent.as_deref().into(),
        content.branch.as_deref().into(),
        content.view.as_deref().into(),
        outer_call.map(|text| text.as_str().to_owned()).into(),
        (&*content.kind).into(),
        content.body.as_str().into(),
    ])
}

/// Reads the contents of the last `count` entries, in order.
async fn read_last_contents<C: SqlConnection>(
    connection: &mut C,
    row_id: i64,
    count: usize,
) -> Result<Vec<EntryContent>, SessionError> {
    let query = concat!(
        "SELECT ",
        entry_columns!(),
        " FROM entries WHERE session = ?1 ORDER BY number DESC LIMIT ?2"
    );
    let query = SqlStatement::new(query).bind(row_id).bind(sql_limit(count));
    let mut contents =
        connection.fetch_all(query, |row| read_entry_row(row).map(|entry| entry.content)).await?;
    contents.reverse();
    Ok(contents)
}

async fn patch_shared_state<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
    changes: &ScopedState,
) -> Result<(), SessionError> {
    for (scope, user, changes) in [("user", key.user(), &changes.user), ("app", "", &changes.app)] {
        if changes.is_empty() {
            continue;
        }
        // Makes the row or locks it, and returns what it has.
        let lock = "INSERT INTO shared_state (app, scope, user_id, state) VALUES (?1, ?2, ?3, '{}') \
                    ON CONFLICT (app, scope, user_id) DO UPDATE SET app = excluded.app RETURNING state";
        let lock = SqlStatement::new(lock).bind(key.app()).bind(scope).bind(user);
        let text = connection.fetch_optional(lock, |row| row.text(0)).await?;
        let mut values = parse_state(text.as_deref().unwrap_or("{}"))?;
        merge_patch(&mut values, changes);
        let update = "UPDATE shared_state SET state = ?4 WHERE app = ?1 AND scope = ?2 AND user_id = ?3";
        let update = SqlStatement::new(update).bind(key.app()).bind(scope).bind(user);
        connection.execute(update.bind(serialize_state(&values)?)).await?;
    }
    Ok(())
}

#[cfg(all(test, feature = "sqlite"))]
mod tests;
