//! Reads, each of which sees one moment.

use futures_util::TryStreamExt;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{
    error::store_error,
    rows::{entry_columns, entry_of, find_session, load_state, session_columns, session_of, sql_integer},
};
use crate::{
    EntryOrder, EntryPage, EntryQuery, Session, SessionError, SessionFilter, SessionKey, SessionSnapshot,
    UnfinishedRun, millis, query::PageBuilder,
};

/// Reads a session with its state.
pub(super) async fn read_snapshot(
    connection: &mut SqliteConnection,
    key: &SessionKey,
) -> Result<Option<SessionSnapshot>, SessionError> {
    let Some(row) = find_session(connection, key).await? else { return Ok(None) };
    let state = load_state(connection, key, row.state).await?;
    Ok(Some(SessionSnapshot { session: row.session, state }))
}

/// Reads a page of sessions.
pub(super) async fn read_sessions(
    connection: &mut SqliteConnection,
    filter: &SessionFilter,
) -> Result<Vec<Session>, SessionError> {
    let mut query =
        QueryBuilder::<Sqlite>::new(concat!("SELECT ", session_columns!(), " FROM sessions WHERE app = "));
    query.push_bind(&*filter.app);
    if let Some(user) = &filter.user {
        query.push(" AND user_id = ").push_bind(&**user);
    }
    if let Some((time, key)) = &filter.after {
        query.push(" AND (updated_at, user_id, id) < (").push_bind(millis::of(*time));
        query.push(", ").push_bind(key.user()).push(", ").push_bind(key.id()).push(")");
    }
    query.push(" ORDER BY updated_at DESC, user_id DESC, id DESC LIMIT ");
    query.push_bind(i64::try_from(filter.page_sessions()).unwrap_or(i64::MAX));
    let rows = query.build().fetch_all(connection).await.map_err(store_error)?;
    rows.iter().map(|row| session_of(row).map(|row| row.session)).collect()
}

/// Reads a page of entries, row by row until it is full.
pub(super) async fn read_page(
    connection: &mut SqliteConnection,
    key: &SessionKey,
    page_query: &EntryQuery,
) -> Result<EntryPage, SessionError> {
    let mut query = QueryBuilder::<Sqlite>::new(concat!(
        "SELECT ",
        entry_columns!(),
        " FROM entries WHERE session = (SELECT row_id FROM sessions WHERE app = "
    ));
    query.push_bind(key.app()).push(" AND user_id = ").push_bind(key.user());
    query
        .push(" AND id = ")
        .push_bind(key.id())
        .push(") AND number > ")
        .push_bind(sql_integer(page_query.after));
    if let Some(before) = page_query.before {
        query.push(" AND number < ").push_bind(sql_integer(before));
    }
    if let Some(run) = &page_query.run {
        query.push(" AND run = ").push_bind(run.to_string());
    }
    let names = [
        (" AND kind = ", &page_query.kind),
        (" AND branch = ", &page_query.branch),
        (" AND view = ", &page_query.view),
    ];
    for (condition, name) in names {
        if let Some(name) = name {
            query.push(condition).push_bind(&**name);
        }
    }
    query.push(match page_query.order {
        EntryOrder::Forward => " ORDER BY number LIMIT ",
        EntryOrder::Backward => " ORDER BY number DESC LIMIT ",
    });
    query.push_bind(i64::try_from(page_query.page_entries() + 1).unwrap_or(i64::MAX));
    let mut page = PageBuilder::new(page_query);
    let mut query = query.build().fetch(connection);
    while let Some(row) = query.try_next().await.map_err(store_error)? {
        if page.add(entry_of(&row)?).is_break() {
            break;
        }
    }
    Ok(page.finish())
}

/// Reads the runs of an app whose leases have expired without an end.
pub(super) async fn read_unfinished_runs(
    connection: &mut SqliteConnection,
    app: &str,
    now: i64,
) -> Result<Vec<UnfinishedRun>, SessionError> {
    let query = concat!(
        "SELECT ",
        session_columns!(),
        " FROM sessions WHERE app = ?1 AND lease_released = 0 AND lease_expires_at <= ?2",
        " ORDER BY lease_expires_at, user_id, id"
    );
    let rows = sqlx::query(query).bind(app).bind(now).fetch_all(connection).await.map_err(store_error)?;
    let mut runs = Vec::with_capacity(rows.len());
    for row in &rows {
        let row = session_of(row)?;
        let Session { key, revision, .. } = row.session;
        if let Some(lease) = row.lease {
            runs.push(UnfinishedRun { key, run: lease.run, revision, expired_at: lease.expires_at });
        }
    }
    Ok(runs)
}
