//! Reads, each of which sees one moment.

use super::{
    SqlConnection, SqlRow, SqlStatement,
    rows::{
        add_user_and_app_state, entry_columns, find_session_row, read_entry_row, read_session_row,
        session_columns,
    },
    sql_limit,
};
use crate::{
    EntryOrder, EntryPage, EntryQuery, Session, SessionError, SessionFilter, SessionKey, SessionSnapshot,
    UnfinishedRun, millis, query::PageBuilder,
};

/// Reads a session with its state.
pub(crate) async fn read_snapshot<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
) -> Result<Option<SessionSnapshot>, SessionError> {
    let Some(row) = find_session_row(connection, key).await? else { return Ok(None) };
    let state = add_user_and_app_state(connection, key, row.state).await?;
    Ok(Some(SessionSnapshot { session: row.session, state }))
}

/// Reads a page of sessions.
pub(crate) async fn read_session_page<C: SqlConnection>(
    connection: &mut C,
    filter: &SessionFilter,
) -> Result<Vec<Session>, SessionError> {
    let query = concat!("SELECT ", session_columns!(listed), " FROM sessions WHERE app = ?1");
    let mut query = SqlStatement::new(query).bind(&*filter.app);
    if let Some(user) = &filter.user {
        query.push_sql(" AND user_id = ").push_value(&**user);
    }
    if let Some((time, key)) = &filter.after {
        query.push_sql(" AND (updated_at, user_id, id) < ");
        query.push_rows([[millis::from_time(*time).into(), key.user().into(), key.id().into()]]);
    }
    query.push_sql(" ORDER BY updated_at DESC, user_id DESC, id DESC LIMIT ");
    query.push_value(sql_limit(filter.max_page_sessions()));
    connection.fetch_all(query, |row| read_session_row(row).map(|row| row.session)).await
}

/// Reads a page of entries, row by row until it is full.
pub(crate) async fn read_entry_page<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
    page_query: &EntryQuery,
) -> Result<EntryPage, SessionError> {
    // One row more tells that further entries follow.
    let mut rows = page_query.max_page_entries() + 1;
    if C::SENDS_ALL_ROWS {
        rows = count_page_rows(connection, key, page_query, rows).await?;
    }
    let columns = concat!("SELECT ", entry_columns!());
    let mut page = PageBuilder::new(page_query);
    let query = entries_query(columns, key, page_query, rows);
    connection.fetch_until(query, |row| Ok(page.add_unless_full(read_entry_row(row)?))).await?;
    Ok(page.finish())
}

/// Returns the number of rows of a page and the one behind it, of at most `max_rows`, by the sizes of the bodies.
async fn count_page_rows<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
    page_query: &EntryQuery,
    max_rows: usize,
) -> Result<usize, SessionError> {
    let columns = "SELECT CAST(octet_length(body) AS BIGINT)";
    let query = entries_query(columns, key, page_query, max_rows);
    let sizes = connection.fetch_all(query, |row| row.number(0)).await?;
    let max_bytes = u64::try_from(page_query.max_bytes).unwrap_or(u64::MAX);
    let totals = sizes.iter().scan(0_u64, |total, size| {
        *total = total.saturating_add(*size);
        Some(*total)
    });
    Ok(totals.take_while(|total| *total <= max_bytes).count().max(1) + 1)
}

/// Returns the query of the first `rows` entries that a query admits.
fn entries_query<'a>(
    columns: &'static str,
    key: &'a SessionKey,
    page_query: &'a EntryQuery,
    rows: usize,
) -> SqlStatement<'a> {
    let mut query = SqlStatement::new(columns);
    query
        .push_sql(" FROM entries WHERE session = (SELECT row_id FROM sessions WHERE app = ")
        .push_value(key.app());
    query.push_sql(" AND user_id = ").push_value(key.user()).push_sql(" AND id = ").push_value(key.id());
    query.push_sql(") AND number > ").push_value(page_query.after);
    if let Some(before) = page_query.before {
        query.push_sql(" AND number < ").push_value(before);
    }
    if let Some(run) = &page_query.run {
        query.push_sql(" AND run = ").push_value(run.to_string());
    }
    let names = [
        (" AND kind = ", &page_query.kind),
        (" AND branch = ", &page_query.branch),
        (" AND view = ", &page_query.view),
    ];
    for (condition, name) in names {
        if let Some(name) = name {
            query.push_sql(condition).push_value(&**name);
        }
    }
    query.push_sql(match page_query.order {
        EntryOrder::Forward => " ORDER BY number LIMIT ",
        EntryOrder::Backward => " ORDER BY number DESC LIMIT ",
    });
    query.push_value(sql_limit(rows));
    query
}

/// Reads the runs of an app whose leases have expired without an end.
pub(crate) async fn read_unfinished_runs<C: SqlConnection>(
    connection: &mut C,
    app: &str,
    now: i64,
) -> Result<Vec<UnfinishedRun>, SessionError> {
    let query = concat!(
        "SELECT ",
        session_columns!(listed),
        " FROM sessions WHERE app = ?1 AND lease_released = 0 AND lease_expires_at <= ?2",
        " ORDER BY lease_expires_at, user_id, id"
    );
    let rows = connection.fetch_all(SqlStatement::new(query).bind(app).bind(now), read_session_row).await?;
    let runs = rows.into_iter().filter_map(|row| {
        let Session { key, revision, .. } = row.session;
        let lease = row.lease?;
        Some(UnfinishedRun { key, run: lease.run, revision, expired_at: lease.expires_at })
    });
    Ok(runs.collect())
}
