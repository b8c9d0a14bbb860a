//! The processes of a cluster: each shows regularly that it lives.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    ClusterError,
    calls::ReservedCalls,
    database::SqlValue,
    event_log::{EventLog, decode_first_value},
};

/// The beats in the time after which a process counts as ended.
pub(super) const BEATS_PER_TIMEOUT: u32 = 4;

/// The processes of a cluster.
pub(super) struct ClusterProcesses {
    log: Arc<EventLog>,
    calls: Arc<ReservedCalls>,
    /// The time after which a process without a beat has ended.
    pub(super) timeout: Duration,
    /// Until then, other processes may look as if they had ended: the database did not answer.
    doubtful_until: Mutex<Option<Instant>>,
}

impl ClusterProcesses {
    pub(super) fn new(log: Arc<EventLog>, calls: Arc<ReservedCalls>, timeout: Duration) -> Self {
        Self { log, calls, timeout, doubtful_until: Mutex::default() }
    }

    /// Shows that this process lives, and removes rows whose time is over.
    pub(super) async fn beat_and_remove_expired(&self) -> Result<(), ClusterError> {
        let beat = "INSERT INTO {schema}.processes (app, id, seen_at) VALUES ($1, $2, now()) \
                    ON CONFLICT (app, id) DO UPDATE SET seen_at = now()";
        let app = SqlValue::Text(&self.log.app);
        self.log.database.fetch(beat, &[app, SqlValue::Text(&self.log.process)]).await?;
        self.calls.store_all_reservations().await?;
        let old_events =
            "DELETE FROM {schema}.events WHERE app = $1 AND stored_at < now() - make_interval(secs => $2)";
        self.log.database.fetch(old_events, &[app, SqlValue::Seconds(self.log.retention)]).await?;
        let old_states = "DELETE FROM {schema}.used_states WHERE app = $1 AND expires_at < now()";
        self.log.database.fetch(old_states, &[app]).await?;
        let old_tasks = "DELETE FROM {schema}.tasks WHERE app = $1 AND expires_at < now()";
        self.log.database.fetch(old_tasks, &[app]).await?;
        let ended =
            "DELETE FROM {schema}.processes WHERE app = $1 AND seen_at < now() - make_interval(secs => $2)";
        self.log.database.fetch(ended, &[app, SqlValue::Seconds(self.timeout)]).await?;
        let their_calls = "DELETE FROM {schema}.reserved_calls AS c WHERE app = $1 AND NOT EXISTS \
                           (SELECT 1 FROM {schema}.processes AS p WHERE p.app = c.app AND p.id = c.process)";
        self.log.database.fetch(their_calls, &[app]).await.map(drop)
    }

    /// Signs this process off.
    pub(super) async fn remove_this_process(&self) -> Result<(), ClusterError> {
        let sql = "DELETE FROM {schema}.processes WHERE app = $1 AND id = $2";
        let values = [SqlValue::Text(&self.log.app), SqlValue::Text(&self.log.process)];
        self.log.database.fetch(sql, &values).await.map(drop)
    }

    /// Returns `true` if a process that is not alive has ended for certain.
    pub(super) fn can_tell_ended_processes(&self) -> bool {
        let doubtful_until = *self.doubtful_until.lock().unwrap_or_else(PoisonError::into_inner);
        doubtful_until.is_none_or(|until| until <= Instant::now())
    }

    /// Returns `true` if the process `id` lives.
    pub(super) async fn is_alive(&self, id: &str) -> Result<bool, ClusterError> {
        let sql = "SELECT count(*) FROM {schema}.processes \
                   WHERE app = $1 AND id = $2 AND seen_at > now() - make_interval(secs => $3)";
        let values = [SqlValue::Text(&self.log.app), SqlValue::Text(id), SqlValue::Seconds(self.timeout)];
        Ok(decode_first_value::<i64>(&self.log.database.fetch(sql, &values).await?)? > 0)
    }
}

/// Shows that this process lives, as long as it is in its cluster.
pub(super) async fn beat_regularly(processes: Weak<ClusterProcesses>) {
    loop {
        let Some(pause) = processes.upgrade().map(|it| it.timeout / BEATS_PER_TIMEOUT) else { return };
        tokio::time::sleep(pause).await;
        let Some(processes) = processes.upgrade() else { return };
        if processes.log.database.pool.is_closed() {
            return;
        }
        let start = Instant::now();
        let beat = processes.beat_and_remove_expired().await;
        if beat.is_err() || start.elapsed() > processes.timeout / BEATS_PER_TIMEOUT {
            let until = Instant::now() + processes.timeout;
            *processes.doubtful_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        }
        if let Err(error) = beat {
            tracing::warn!(%error, "the database of the cluster does not know that this process lives");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::{super::Cluster, *};

    #[tokio::test(start_paused = true)]
    async fn after_a_beat_that_failed_other_processes_may_live_for_a_while() {
        let log = EventLog::without_database();
        let calls = Arc::new(ReservedCalls::new(Arc::clone(&log), Duration::from_secs(10)));
        let processes = ClusterProcesses::new(log, calls, Duration::from_secs(10));
        assert!(processes.can_tell_ended_processes());
        let until = Instant::now() + processes.timeout;
        *processes.doubtful_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        assert!(!processes.can_tell_ended_processes());
        tokio::time::advance(Duration::from_millis(9_999)).await;
        assert!(!processes.can_tell_ended_processes());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(processes.can_tell_ended_processes());
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_beat_that_failed_it_is_not_known_who_lives_until_others_had_the_time_to_beat() {
        let timeout = Duration::from_secs(60);
        let log = EventLog::without_database();
        let calls = Arc::new(ReservedCalls::new(Arc::clone(&log), timeout));
        let processes = Arc::new(ClusterProcesses::new(Arc::clone(&log), calls, timeout));
        let mut beating = Box::pin(beat_regularly(Arc::downgrade(&processes)));
        let mut beat_for = async |time| tokio::time::timeout(time, &mut beating).await.is_ok();
        assert!(!beat_for(Duration::from_millis(14_999)).await);
        assert!(processes.can_tell_ended_processes(), "the first beat is after a quarter of the time");
        // The database does not answer for some seconds.
        assert!(!beat_for(Duration::from_millis(10_001)).await);
        let until = processes.doubtful_until.lock().unwrap().unwrap();
        let left = until - Instant::now();
        assert!(left > timeout - Duration::from_millis(10_001) && left <= timeout, "{left:?}");
        log.database.close().await;
        assert!(beat_for(Duration::from_secs(20)).await, "it has left the cluster");

        let mut beating = Box::pin(beat_regularly(Arc::downgrade(&processes)));
        assert!(tokio::time::timeout(Duration::from_secs(14), &mut beating).await.is_err());
        drop(processes);
        assert!(tokio::time::timeout(Duration::from_secs(2), &mut beating).await.is_ok());
    }

    #[tokio::test]
    async fn a_beat_shows_that_the_process_lives_and_removes_what_is_over() {
        let Some(cluster) = Cluster::open_alone().await else { return };
        let (log, processes) = (&cluster.0.log, &cluster.0.processes);
        let execute = async |sql: &str| log.database.fetch(sql, &[]).await.unwrap();
        for text in ["old", "new"] {
            log.append(&super::super::event_log::StreamKey::of_all(), text).await.unwrap();
        }
        let counted =
            cluster.count_call(super::super::CountedCaller::Session("s"), 1).await.unwrap().unwrap();
        for sql in [
            "UPDATE {schema}.events SET stored_at = now() - interval '1 day' WHERE number = 0",
            "INSERT INTO {schema}.used_states VALUES ('mcp', 'old', 'use', now() - interval '1 second'), \
             ('mcp', 'new', 'use', now() + interval '1 day')",
            "INSERT INTO {schema}.tasks VALUES ('mcp', 'old', 'p', NULL, now() - interval '1 second'), \
             ('mcp', 'new', 'p', NULL, now() + interval '1 day')",
            "INSERT INTO {schema}.processes VALUES ('mcp', 'ended', now() - interval '11 seconds'), \
             ('mcp', 'other', now() + interval '1 hour')",
            "UPDATE {schema}.processes SET seen_at = now() - interval '1 day' WHERE id NOT IN ('ended', 'other')",
            // Lost, as after a crash of the server.
            "DELETE FROM {schema}.reserved_calls",
            "INSERT INTO {schema}.reserved_calls VALUES ('mcp', 'ended', 'c', 1), ('mcp', 'other', 'c', 1)",
        ] {
            execute(sql).await;
        }
        processes.beat_and_remove_expired().await.unwrap();
        let mut left = Vec::new();
        for (table, column) in [
            ("events", "number::text"),
            ("used_states", "id"),
            ("tasks", "id"),
            ("processes", "CASE id WHEN $1 THEN 'own' ELSE id END"),
            ("reserved_calls", "CASE process WHEN $1 THEN 'own' ELSE process END"),
        ] {
            let sql = format!(
                "SELECT string_agg({column}, ' ' ORDER BY {column}) FROM {{schema}}.{table} WHERE $1 <> ''"
            );
            let rows = log.database.fetch(&sql, &[SqlValue::Text(&log.process)]).await.unwrap();
            left.push(decode_first_value::<String>(&rows).unwrap());
        }
        assert_eq!(left, ["1", "new", "new", "other own", "other own"]);
        for (id, expected) in [("ended", false), ("other", true), (&*log.process, true), ("unknown", false)] {
            assert_eq!(processes.is_alive(id).await.unwrap(), expected, "{id}");
        }
        assert!(processes.can_tell_ended_processes());
        drop(counted);
        processes.remove_this_process().await.unwrap();
        assert!(!processes.is_alive(&log.process).await.unwrap());
    }
}
