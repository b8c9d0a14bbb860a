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
