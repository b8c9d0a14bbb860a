//! Rows and their values.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};
use tool_runtime::call::{CallAddress, CallId};

use super::error::store_error;
use crate::{
    Entry, EntryContent, JsonText, ScopedState, Session, SessionError, SessionKey, SessionOrigin,
    lease::StoredLease, millis,
};

/// The columns of [`session_of`].
macro_rules! session_columns {
    () => {
        "row_id, app, user_id, id, revision, entries, title, created_at, updated_at, origin_id, origin_entry, state, \
         lease_run, lease_holder, lease_epoch, lease_expires_at, lease_duration, lease_released, lease_usage"
    };
}

/// The columns of [`entry_of`].
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

/// Returns a number as the database stores it.
pub(super) fn sql_integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Returns a stored number, which is never negative.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}

/// Reads a session.
pub(super) fn session_of(row: &SqliteRow) -> Result<SessionRow, SessionError> {
    let text = |index: usize| row.try_get::<String, _>(index).map_err(store_error);
    let integer = |index: usize| row.try_get::<i64, _>(index).map_err(store_error);
    let key = SessionKey::new(text(1)?, text(2)?, text(3)?)?;
    let mut session = Session::new(key, millis::time(integer(7)?));
    (session.revision, session.entries) = (unsigned(integer(4)?), unsigned(integer(5)?));
    session.title = row.try_get::<Option<String>, _>(6).map_err(store_error)?.map(Into::into);
    session.updated_at = millis::time(integer(8)?);
    if let Some(id) = row.try_get::<Option<String>, _>(9).map_err(store_error)? {
        session.origin = Some(SessionOrigin { id: id.into(), entry: unsigned(integer(10)?) });
    }
    let lease = match row.try_get::<Option<String>, _>(12).map_err(store_error)? {
        None => None,
        Some(run) => Some(StoredLease {
            run: CallId::from(run),
            holder: text(13)?.into(),
            epoch: unsigned(integer(14)?),
            expires_at: millis::time(integer(15)?),
            duration: Duration::from_millis(unsigned(integer(16)?)),
            is_released: integer(17)? != 0,
            usage: row.try_get::<Option<String>, _>(18).map_err(store_error)?.map(JsonText::stored),
        }),
    };
    Ok(SessionRow { row_id: integer(0)?, session, state: state_of(&text(11)?)?, lease })
}

/// Reads an entry.
pub(super) fn entry_of(row: &SqliteRow) -> Result<Entry, SessionError> {
    let text = |index: usize| row.try_get::<String, _>(index).map_err(store_error);
    let optional = |index: usize| row.try_get::<Option<String>, _>(index).map_err(store_error);
    let integer = |index: usize| row.try_get::<i64, _>(index).map_err(store_error);
    let mut content = EntryContent::new(text(2)?, text(8)?, JsonText::stored(text(9)?));
    content.time = millis::time(integer(1)?);
    content.parent_run = optional(3)?.map(CallId::from);
    content.agent = optional(4)?.map(Arc::from);
    content.branch = optional(5)?.map(Arc::from);
    content.view = optional(6)?.map(Arc::from);
    content.outer_call =
        optional(7)?.map(|text| read_json::<CallAddress>("outer call", &text)).transpose()?;
    Ok(Entry { number: unsigned(integer(0)?), content })
}

/// Reads the state of one scope.
pub(super) fn state_of(text: &str) -> Result<Map<String, Value>, SessionError> {
    read_json("state", text)
}

fn read_json<T: serde::de::DeserializeOwned>(role: &str, text: &str) -> Result<T, SessionError> {
    serde_json::from_str(text)
        .map_err(|error| SessionError::Failed(format!("the stored {role} is not valid: {error}")))
}

/// Finds the row of a session.
pub(super) async fn find_session(
    connection: &mut SqliteConnection,
    key: &SessionKey,
) -> Result<Option<SessionRow>, SessionError> {
    let query =
        concat!("SELECT ", session_columns!(), " FROM sessions WHERE app = ?1 AND user_id = ?2 AND id = ?3");
    let query = sqlx::query(query).bind(key.app()).bind(key.user()).bind(key.id());
    let row = query.fetch_optional(connection).await.map_err(store_error)?;
    row.as_ref().map(session_of).transpose()
}

/// Completes the state of a session by those of its user and its app.
pub(super) async fn load_state(
    connection: &mut SqliteConnection,
    key: &SessionKey,
    session: Map<String, Value>,
) -> Result<ScopedState, SessionError> {
    let query = "SELECT scope, state FROM shared_state WHERE app = ?1 AND (scope, user_id) IN (VALUES ('app', ''), ('user', ?2))";
    let query = sqlx::query_as::<_, (String, String)>(query).bind(key.app()).bind(key.user());
    let mut state = ScopedState { session, ..ScopedState::default() };
    for (scope, text) in query.fetch_all(connection).await.map_err(store_error)? {
        let values = state_of(&text)?;
        if scope == "app" { state.app = values } else { state.user = values }
    }
    Ok(state)
}
