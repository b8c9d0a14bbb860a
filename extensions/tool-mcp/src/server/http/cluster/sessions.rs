//! The sessions of a cluster.

use std::time::Duration;

use rmcp::transport::streamable_http_server::session::SessionState;
use tokio::time::Instant;
use tool_runtime::definition::ContentHash;

use super::{
    Cluster, ClusterError,
    database::SqlValue,
    event_log::{StreamKey, StreamPosition, decode_column, decode_first_value},
    session_checks::MAX_LEASE,
};
use crate::server::{http::session_error::SessionLimit, session_state::SessionSetting};

/// The limits of the sessions of all processes.
#[derive(Debug, Clone, Copy)]
pub(in crate::server::http) struct SessionLimits {
    pub(in crate::server::http) max_sessions: usize,
    pub(in crate::server::http) max_per_caller: usize,
    pub(in crate::server::http) idle_time: Duration,
}

/// Hashes a name that is a secret of a client.
pub(super) fn hash_of(kind: &str, name: &str) -> String {
    ContentHash::of(&[kind, name]).to_string()
}

impl Cluster {
    /// Opens the session `id`, unless a limit is reached, which is returned.
    pub(in crate::server::http) async fn open_session(
        &self,
        id: &str,
        caller: Option<&str>,
        limits: SessionLimits,
    ) -> Result<Option<SessionLimit>, ClusterError> {
        let log = &self.0.log;
        let (id, caller) = (hash_of("session", id), caller.map(|caller| hash_of("caller", caller)));
        let values = [
            SqlValue::Text(&log.app),
            SqlValue::Text(&id),
            SqlValue::Text(caller.as_deref().unwrap_or_default()),
            SqlValue::Seconds(limits.idle_time),
            SqlValue::from_count(limits.max_sessions),
            SqlValue::from_count(limits.max_per_caller),
        ];
        let sql = "SELECT {schema}.open_session($1, $2, $3, $4, $5, $6)";
        let reached: String = decode_first_value(&log.database.fetch(sql, &values).await?)?;
        Ok(match &*reached {
            "server" => Some(SessionLimit::Server(limits.max_sessions)),
            "caller" => Some(SessionLimit::Caller(limits.max_per_caller)),
            _ => None,
        })
    }

    /// Stores the state of a session that was opened.
    pub(in crate::server::http) async fn store_session_state(
        &self,
        id: &str,
        state: &SessionState,
    ) -> Result<(), ClusterError> {
        let log = &self.0.log;
        let id = hash_of("session", id);
        let text = serde_json::to_string(state)
            .map_err(|error| ClusterError::Failed(format!("the session cannot be written: {error}")))?;
        let body = log.seal(&text, &["session", &id])?;
        let sql = "UPDATE {schema}.sessions SET body = $3, used_at = now() WHERE app = $1 AND id = $2 AND body IS NULL";
        let values = [SqlValue::Text(&log.app), SqlValue::Text(&id), SqlValue::Text(&body)];
        log.database.fetch(sql, &values).await.map(drop)
    }

    /// Returns the state of a session; `None` if there is none, or it was altered, which is logged.
    pub(super) async fn load_session_state(&self, id: &str) -> Result<Option<SessionState>, ClusterError> {
        let log = &self.0.log;
        let id = hash_of("session", id);
        let sql = "SELECT body FROM {schema}.sessions WHERE app = $1 AND id = $2 AND body IS NOT NULL";
        let rows = log.database.fetch(sql, &[SqlValue::Text(&log.app), SqlValue::Text(&id)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let text = log.unseal(decode_column(row, 0)?, &["session", &id]);
        let state = text.and_then(|text| serde_json::from_str(&text).ok());
        if state.is_none() {
            tracing::error!(session = id, "a session of the database was altered, and is refused");
        }
        Ok(state)
    }

    /// Returns `true` if the session `id` was found a moment ago, and else as [`touch_session`](Self::touch_session). For a request without a session, asks
    /// only whether the database answers.
    pub(in crate::server::http) async fn admit_session(
        &self,
        id: Option<&str>,
        idle_time: Duration,
    ) -> Result<bool, ClusterError> {
        // No session has an empty hash.
        let hash = id.map(|id| hash_of("session", id)).unwrap_or_default();
        let (log, checks) = (&self.0.log, &self.0.session_checks);
        if checks.has_lease(&hash) && !log.database.pool.is_closed() {
            return Ok(true);
        }
        let Some(id) = id else {
            let asked_at = Instant::now();
            checks.session_idle_time(log, &hash).await?;
            checks.give_lease(hash, asked_at + MAX_LEASE);
            return Ok(true);
        };
        self.touch_session(id, idle_time).await
    }

    /// Notes a use of the session `id`, and returns `false` if there is none, or it is idle for too long.
    pub(in crate::server::http) async fn touch_session(
        &self,
        id: &str,
        idle_time: Duration,
    ) -> Result<bool, ClusterError> {
        /// The uses that are noted in the idle time: a write costs more than a look.
        const USES_PER_IDLE_TIME: u32 = 10;
        let (id, checks, asked_at) = (hash_of("session", id), &self.0.session_checks, Instant::now());
        let found = checks.session_idle_time(&self.0.log, &id).await?;
        let Some(idle) = found.filter(|idle| *idle < idle_time) else {
            checks.end_lease(&id);
            return Ok(false);
        };
        if idle > idle_time / USES_PER_IDLE_TIME {
            self.note_uses(&[&id]).await?;
        }
        let lease = MAX_LEASE.min(idle_time / USES_PER_IDLE_TIME);
        checks.give_lease(id, asked_at + lease);
        Ok(true)
    }

    /// Ends the lease of the session `id`, which another process has closed.
    pub(super) fn end_session_lease(&self, id: &str) {
        self.0.session_checks.end_lease(&hash_of("session", id));
    }

    /// Notes a use of the sessions `ids`, which have a stream or a request.
    pub(in crate::server::http) async fn touch_sessions(&self, ids: &[String]) -> Result<(), ClusterError> {
        let hashes: Vec<_> = ids.iter().map(|id| hash_of("session", id)).collect();
        self.note_uses(&hashes.iter().map(String::as_str).collect::<Vec<_>>()).await
    }

    /// Deletes the sessions that are idle for too long.
    pub(super) async fn delete_idle_sessions(&self, idle_time: Duration) -> Result<(), ClusterError> {
        let sql =
            "DELETE FROM {schema}.sessions WHERE app = $1 AND used_at < now() - make_interval(secs => $2)";
        let values = [SqlValue::Text(&self.0.log.app), SqlValue::Seconds(idle_time)];
        self.0.log.database.fetch(sql, &values).await.map(drop)
    }

    async fn note_uses(&self, hashes: &[&str]) -> Result<(), ClusterError> {
        let sql = "UPDATE {schema}.sessions SET used_at = now() WHERE app = $1 AND id = ANY($2)";
        let values = [SqlValue::Text(&self.0.log.app), SqlValue::Texts(hashes)];
        self.0.log.database.fetch(sql, &values).await.map(drop)
    }

    /// Deletes the session `id`, and tells all processes. When it returns, no process admits a request of the session.
    pub(in crate::server::http) async fn end_session_everywhere(&self, id: &str) -> Result<(), ClusterError> {
        let log = &self.0.log;
        let hash = hash_of("session", id);
        let sql = "DELETE FROM {schema}.sessions WHERE app = $1 AND id = $2";
        log.database.fetch(sql, &[SqlValue::Text(&log.app), SqlValue::Text(&hash)]).await?;
        self.0.session_checks.end_lease(&hash);
        let deleted_at = Instant::now();
        self.tell_session_end(id).await?;
        // Leases of other processes, which may not have been told yet.
        tokio::time::sleep_until(deleted_at + MAX_LEASE).await;
        Ok(())
    }

    /// Returns the positions from which a stream of the session itself is read that names none: those of the last one, or of the session's
    /// start.
    pub(super) async fn next_stream_positions(&self, id: &str) -> Result<Vec<StreamPosition>, ClusterError> {
        let log = &self.0.log;
        let hash = hash_of("session", id);
        let sql = "UPDATE {schema}.sessions AS s SET stream_position = (SELECT coalesce(max(id), 0) FROM {schema}.events) \
                   FROM (SELECT stream_position FROM {schema}.sessions WHERE app = $1 AND id = $2 FOR UPDATE) AS old \
                   WHERE s.app = $1 AND s.id = $2 RETURNING old.stream_position";
        let rows = log.database.fetch(sql, &[SqlValue::Text(&log.app), SqlValue::Text(&hash)]).await?;
        let last = decode_first_value(&rows)?;
        let streams = [StreamKey::of_session(id), StreamKey::of_changes()];
        Ok(streams.into_iter().map(|stream| StreamPosition { stream, last }).collect())
    }

    /// Stores what a client set in its session, and tells all processes.
    pub(in crate::server) async fn store_and_share_setting(
        &self,
        session: &str,
        setting: SessionSetting,
    ) -> Result<(), ClusterError> {
        let log = &self.0.log;
        let id = hash_of("session", session);
        let name = match &setting {
            SessionSetting::Level(_) => hash_of("setting", "level"),
            SessionSetting::Subscribed(uri) | SessionSetting::Unsubscribed(uri) => hash_of("uri", uri),
        };
        let place = [SqlValue::Text(&log.app), SqlValue::Text(&id), SqlValue::Text(&name)];
        if let SessionSetting::Unsubscribed(_) = setting {
            let sql = "DELETE FROM {schema}.session_settings WHERE app = $1 AND session = $2 AND name = $3";
            log.database.fetch(sql, &place).await?;
        } else {
            let text = serde_json::to_string(&setting)
                .map_err(|error| ClusterError::Failed(format!("a setting cannot be written: {error}")))?;
            let body = log.seal(&text, &["setting", &id, &name])?;
            let sql = "INSERT INTO {schema}.session_settings (app, session, name, body) VALUES ($1, $2, $3, $4) \
                       ON CONFLICT (app, session, name) DO UPDATE SET body = excluded.body";
            let [app, session, name] = place;
            log.database.fetch(sql, &[app, session, name, SqlValue::Text(&body)]).await?;
        }
        self.tell_processes_of_setting(session, setting).await
    }

    /// Returns what the client of a session has set. A setting that was altered is left out, and logged.
    pub(in crate::server::http) async fn load_session_settings(
        &self,
        session: &str,
    ) -> Result<Vec<SessionSetting>, ClusterError> {
        let log = &self.0.log;
        let id = hash_of("session", session);
        let sql = "SELECT name, body FROM {schema}.session_settings WHERE app = $1 AND session = $2";
        let rows = log.database.fetch(sql, &[SqlValue::Text(&log.app), SqlValue::Text(&id)]).await?;
        let mut settings = Vec::with_capacity(rows.len());
        for row in &rows {
            let text = log.unseal(decode_column(row, 1)?, &["setting", &id, decode_column(row, 0)?]);
            match text.and_then(|text| serde_json::from_str(&text).ok()) {
                Some(setting) => settings.push(setting),
                None => tracing::error!(session = id, "a setting of a session was altered, and is left out"),
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests;
