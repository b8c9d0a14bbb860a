//! Rows and their values.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tool_runtime::call::{CallAddress, CallId};

use super::{SqlConnection, SqlRow, SqlStatement};
use crate::{
    Entry, EntryContent, JsonText, ScopedState, Session, SessionError, SessionKey, SessionOrigin,
    lease::StoredLease, millis,
};

/// The columns of [`read_session_row`]; a list of sessions has neither their states nor their usages, which may be large.
macro_rules! session_columns {
    (whole) => {
        session_columns!("state", "lease_usage")
    };
    (listed) => {
        session_columns!("'{}'", "CAST(NULL AS TEXT)")
    };
    ($state:literal, $usage:literal) => {
        concat!(
            "row_id, app, user_id, id, revision, entries, title, created_at, updated_at, origin_id, origin_entry, ",
            $state,
            ", lease_run, lease_holder, lease_epoch, lease_expires_at, lease_duration, lease_released, ",
            $usage
        )
    };
}

/// The columns of [`read_entry_row`].
macro_rules! entry_columns {
    () => {
        "number, time, run, parent_run, agent, branch, view, outer_call, kind, body"
    };
}

pub(super) use {entry_columns, session_columns};

/// A row of a session.
pub(super) struct SessionRow {
    pub(super) row_id: i64,
    pub(super) session: Session,
    pub(super) state: Map<String, Value>,
    /// The last lease; `None` if there was none.
    pub(super) lease: Option<StoredLease>,
}

/// Reads a session.
pub(super) fn read_session_row(row: &impl SqlRow) -> Result<SessionRow, SessionError> {
    let key = SessionKey::new(row.text(1)?, row.text(2)?, row.text(3)?)?;
    let mut session = Session::new(key, millis::to_time(row.integer(7)?));
    (session.revision, session.entries) = (row.number(4)?, row.number(5)?);
    session.title = row.optional_text(6)?.map(Into::into);
    session.updated_at = millis::to_time(row.integer(8)?);
    if let Some(id) = row.optional_text(9)? {
        session.origin = Some(SessionOrigin { id: id.into(), entry: row.number(10)? });
    }
    let lease = match row.optional_text(12)? {
        None => None,
        Some(run) => Some(StoredLease {
            run: CallId::from(run),
            holder: row.text(13)?.into(),
            epoch: row.number(14)?,
            expires_at: millis::to_time(row.integer(15)?),
            duration: Duration::from_millis(row.number(16)?),
            is_released: row.integer(17)? != 0,
            usage: row.optional_text(18)?.map(JsonText::from_stored),
        }),
    };
    Ok(SessionRow { row_id: row.integer(0)?, session, state: parse_state(&row.text(11)?)?, lease })
}

/// Reads an entry.
pub(super) fn read_entry_row(row: &impl SqlRow) -> Result<Entry, SessionError> {
    let mut content = EntryContent::new(row.text(2)?, row.text(8)?, JsonText::from_stored(row.text(9)?));
    content.time = millis::to_time(row.integer(1)?);
    content.parent_run = row.optional_text(3)?.map(CallId::from);
    content.agent = row.optional_text(4)?.map(Arc::from);
    content.branch = row.optional_text(5)?.map(Arc::from);
    content.view = row.optional_text(6)?.map(Arc::from);
    content.outer_call = row
        .optional_text(7)?
        .map(|text| parse_stored_json::<CallAddress>("outer call", &text))
        .transpose()?;
    Ok(Entry { number: row.number(0)?, content })
}

/// Reads the state of one scope.
pub(super) fn parse_state(text: &str) -> Result<Map<String, Value>, SessionError> {
    parse_stored_json("state", text)
}

pub(super) fn serialize_state(state: &Map<String, Value>) -> Result<String, SessionError> {
    JsonText::of(state).map(|text| text.as_str().to_owned())
}

pub(super) fn parse_stored_json<T: serde::de::DeserializeOwned>(
    role: &str,
    text: &str,
) -> Result<T, SessionError> {
    serde_json::from_str(text)
        .map_err(|error| SessionError::Failed(format!("the stored {role} is not valid: {error}")))
}

/// Finds the row of a session.
pub(super) async fn find_session_row<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
) -> Result<Option<SessionRow>, SessionError> {
    connection.fetch_optional(sessions_query(&[key]), read_session_row).await
}

/// Finds the row of a session, which no other transaction changes until this one ends.
pub(super) async fn find_and_lock_session<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
) -> Result<Option<SessionRow>, SessionError> {
    let mut query = sessions_query(&[key]);
    query.push_sql(C::ROW_LOCK);
    connection.fetch_optional(query, read_session_row).await
}

/// Finds the rows of different sessions, by their keys, which no other transaction changes until this one ends.
pub(super) async fn find_and_lock_sessions<C: SqlConnection>(
    connection: &mut C,
    keys: &[&SessionKey],
) -> Result<HashMap<SessionKey, SessionRow>, SessionError> {
    let mut rows = HashMap::with_capacity(keys.len());
    for keys in keys.chunks(C::MAX_ROWS) {
        let mut query = sessions_query(keys);
        query.push_sql(C::ROW_LOCK);
        let found = connection.fetch_all(query, read_session_row).await?;
        rows.extend(found.into_iter().map(|row| (row.session.key.clone(), row)));
    }
    Ok(rows)
}

/// Returns the query of sessions, each of which is found by the index of keys; a list of keys would be compared with all sessions.
fn sessions_query<'a>(keys: &[&'a SessionKey]) -> SqlStatement<'a> {
    let mut query = SqlStatement::new(concat!("SELECT ", session_columns!(whole), " FROM sessions WHERE "));
    for (index, key) in keys.iter().enumerate() {
        query.push_sql(if index == 0 { "app = " } else { " OR app = " }).push_value(key.app());
        query.push_sql(" AND user_id = ").push_value(key.user()).push_sql(" AND id = ").push_value(key.id());
    }
    query
}

/// Completes the state of a session by those of its user and its app.
pub(super) async fn add_user_and_app_state<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
    session: Map<String, Value>,
) -> Result<ScopedState, SessionError> {
    // A list of scopes and users would be compared with the state of each user.
    let query = "SELECT scope, state FROM shared_state WHERE app = ?1 AND scope = 'app' AND user_id = '' \
                 OR app = ?1 AND scope = 'user' AND user_id = ?2";
    let query = SqlStatement::new(query).bind(key.app()).bind(key.user());
    let mut state = ScopedState { session, ..ScopedState::default() };
    for (scope, text) in connection.fetch_all(query, |row| Ok((row.text(0)?, row.text(1)?))).await? {
        let values = parse_state(&text)?;
        if scope == "app" { state.app = values } else { state.user = values }
    }
    Ok(state)
}
