//! The task that wakes readers: by `LISTEN`, or by polling.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use sqlx::postgres::PgListener;

use super::{
    ClusterError,
    database::SqlValue,
    event_log::{EventLog, decode_column},
};

/// The pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Wakes readers as long as there is a log.
pub(super) async fn wake_readers(log: Weak<EventLog>, poll_interval: Option<Duration>) {
    match poll_interval {
        Some(interval) => poll_and_wake(log, interval).await,
        None => loop {
            let Some(target) = log.upgrade().map(|log| ListenerTarget::of(&log)) else { return };
            let listened = target.listen_and_wake(&log).await;
            if target.pool.is_closed() {
                return;
            }
            if let Err(error) = listened {
                tracing::warn!(%error, "new messages cannot be waited for; trying again");
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        },
    }
}

/// The parts of a log that a listener needs, which does not keep the log alive.
struct ListenerTarget {
    pool: sqlx::PgPool,
    channel: String,
}

impl ListenerTarget {
    fn of(log: &Arc<EventLog>) -> Self {
        Self { pool: log.database.pool.clone(), channel: log.database.schema.clone() }
    }

    /// Waits for notifications, until the connection is lost.
    async fn listen_and_wake(&self, log: &Weak<EventLog>) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(&self.pool).await?;
        listener.listen(&self.channel).await?;
        // What was sent before.
        let Some(current) = log.upgrade() else { return Ok(()) };
        current.wakes.wake_all();
        drop(current);
        loop {
            let notification = listener.try_recv().await?;
            let Some(log) = log.upgrade() else { return Ok(()) };
            match notification {
                Some(notification) => log.wakes.wake(notification.payload()),
                // The connection was lost, and notifications with it.
                None => log.wakes.wake_all(),
            }
        }
    }
}

/// Reads in an interval which streams have new events.
async fn poll_and_wake(log: Weak<EventLog>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        let Some(log) = log.upgrade() else { return };
        if log.database.pool.is_closed() {
            return;
        }
        match changed_streams(&log, interval).await {
            Ok(streams) => streams.iter().for_each(|stream| log.wakes.wake(stream)),
            Err(error) => {
                tracing::warn!(%error, "new messages cannot be read; trying again");
                log.wakes.wake_all();
            }
        }
    }
}

/// Returns the streams that have events of the last seconds: one that was stored late has an earlier time.
async fn changed_streams(log: &EventLog, interval: Duration) -> Result<Vec<String>, ClusterError> {
    const MIN_WINDOW: Duration = Duration::from_secs(2);
    let sql = "SELECT DISTINCT stream FROM {schema}.events WHERE app = $1 AND stored_at > now() - make_interval(secs => $2)";
    let window = (interval * 4).max(MIN_WINDOW);
    let rows = log.database.fetch(sql, &[SqlValue::Text(&log.app), SqlValue::Seconds(window)]).await?;
    rows.iter().map(|row| decode_column(row, 0)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::time::timeout;

    use super::{
        super::{Cluster, event_log::StreamKey},
        *,
    };

    #[tokio::test(start_paused = true)]
    async fn while_the_database_cannot_be_polled_all_readers_look_for_events() {
        let log = EventLog::without_database();
        let reader = log.wakes.subscribe([&StreamKey::of_all()]);
        let is_woken = || reader.notified().now_or_never().is_some();
        let interval = Duration::from_secs(60);
        let mut polling = Box::pin(wake_readers(Arc::downgrade(&log), Some(interval)));
        for _ in 0..2 {
            assert!(timeout(Duration::from_millis(49_999), &mut polling).await.is_err());
            assert!(!is_woken());
            assert!(timeout(Duration::from_secs(20), &mut polling).await.is_err());
            assert!(is_woken());
        }
        let (ended, ()) = tokio::join!(timeout(interval, &mut polling), log.database.close());
        assert!(ended.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_ends_with_its_log_or_its_cluster() {
        let minute = Duration::from_secs(60);
        let log = EventLog::without_database();
        let mut listening = Box::pin(wake_readers(Arc::downgrade(&log), None));
        assert!(timeout(minute, &mut listening).await.is_err());
        drop(log);
        assert!(timeout(minute, &mut listening).await.is_ok());
        let log = EventLog::without_database();
        let mut listening = Box::pin(wake_readers(Arc::downgrade(&log), None));
        assert!(timeout(minute, &mut listening).await.is_err());
        let (ended, ()) = tokio::join!(timeout(minute, &mut listening), log.database.close());
        assert!(ended.is_ok());
    }

    #[tokio::test]
    async fn the_streams_of_the_last_seconds_or_of_four_intervals_have_changed() {
        let Some(cluster) = Cluster::open_alone().await else { return };
        let log = &cluster.0.log;
        for (number, age) in [0, 30, 38, 45].into_iter().enumerate() {
            log.append(&StreamKey(number.to_string()), "text").await.unwrap();
            let sql = format!(
                "UPDATE {{schema}}.events SET stored_at = now() - interval '{age} seconds' WHERE number = {number}"
            );
            log.database.fetch(&sql, &[]).await.unwrap();
        }
        for (interval, expected) in [(10, "0 1 2"), (9, "0 1"), (0, "0"), (60, "0 1 2 3")] {
            let mut streams = changed_streams(log, Duration::from_secs(interval)).await.unwrap();
            streams.sort();
            assert_eq!(streams.join(" "), expected, "{interval}");
        }
    }
}
