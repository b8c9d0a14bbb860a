//! The processes of a cluster: each shows regularly that it lives.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use super::{
    ClusterError,
    database::Value,
    event_log::{EventLog, first_value},
};

/// The beats in the time after which a process counts as ended.
pub(super) const BEATS_PER_TIMEOUT: u32 = 4;

/// The processes of a cluster.
pub(super) struct Processes {
    log: Arc<EventLog>,
    /// The time after which a process without a beat has ended.
    pub(super) timeout: Duration,
}

impl Processes {
    pub(super) fn new(log: Arc<EventLog>, timeout: Duration) -> Self {
        Self { log, timeout }
    }

    /// Shows that this process lives, and removes rows whose time is over.
    pub(super) async fn beat(&self) -> Result<(), ClusterError> {
        let beat = "INSERT INTO {schema}.processes (app, id, seen_at) VALUES ($1, $2, now()) \
                    ON CONFLICT (app, id) DO UPDATE SET seen_at = now()";
        let app = Value::Text(&self.log.app);
        self.log.database.fetch(beat, &[app, Value::Text(&self.log.process)]).await?;
        let old_events =
            "DELETE FROM {schema}.events WHERE app = $1 AND stored_at < now() - make_interval(secs => $2)";
        self.log.database.fetch(old_events, &[app, Value::Seconds(self.log.retention)]).await?;
        let old_states = "DELETE FROM {schema}.used_states WHERE app = $1 AND expires_at < now()";
        self.log.database.fetch(old_states, &[app]).await?;
        let old_tasks = "DELETE FROM {schema}.tasks WHERE app = $1 AND expires_at < now()";
        self.log.database.fetch(old_tasks, &[app]).await?;
        let ended =
            "DELETE FROM {schema}.processes WHERE app = $1 AND seen_at < now() - make_interval(secs => $2)";
        self.log.database.fetch(ended, &[app, Value::Seconds(self.timeout)]).await.map(drop)
    }

    /// Signs this process off.
    pub(super) async fn leave(&self) -> Result<(), ClusterError> {
        let sql = "DELETE FROM {schema}.processes WHERE app = $1 AND id = $2";
        let values = [Value::Text(&self.log.app), Value::Text(&self.log.process)];
        self.log.database.fetch(sql, &values).await.map(drop)
    }

    /// Returns `true` if the process `id` lives.
    pub(super) async fn is_alive(&self, id: &str) -> Result<bool, ClusterError> {
        let sql = "SELECT count(*) FROM {schema}.processes \
                   WHERE app = $1 AND id = $2 AND seen_at > now() - make_interval(secs => $3)";
        let values = [Value::Text(&self.log.app), Value::Text(id), Value::Seconds(self.timeout)];
        Ok(first_value::<i64>(&self.log.database.fetch(sql, &values).await?)? > 0)
    }
}

/// Shows that this process lives, as long as it is in its cluster.
pub(super) async fn beat_regularly(processes: Weak<Processes>) {
    loop {
        let Some(pause) = processes.upgrade().map(|it| it.timeout / BEATS_PER_TIMEOUT) else { return };
        tokio::time::sleep(pause).await;
        let Some(processes) = processes.upgrade() else { return };
        if processes.log.database.pool.is_closed() {
            return;
        }
        if let Err(error) = processes.beat().await {
            tracing::warn!(%error, "the database of the cluster does not know that this process lives");
        }
    }
}
