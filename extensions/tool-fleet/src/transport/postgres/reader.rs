//! The task of a process: it takes the messages of its receivers, and shows that they live. Neither waits for the other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use sqlx::{
    Row as _,
    postgres::{PgListener, PgRow},
};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{
    database::{Database, Value, database_error},
    listeners::Listeners,
};
use crate::{Delivery, FleetError, Payload};

/// The interval in which receivers show that they live, and in which messages without a notification are taken, at most: the notification for a
/// group goes to one process, which may have ended.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// The interval in which old rows are removed.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(30);

/// The pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// The messages that are taken by one statement.
const MAX_TAKEN: usize = 64;

pub(super) struct Reader {
    pub(super) database: Arc<Database>,
    pub(super) listeners: Arc<Listeners>,
    pub(super) poll_interval: Option<Duration>,
    /// `false` after a failure, until messages are read again.
    pub(super) is_reading: Arc<AtomicBool>,
}

impl Reader {
    /// Reads until the task is aborted. After a failure, reading goes on once the database is back.
    pub(super) async fn run(self) {
        tokio::join!(self.refresh_listeners(), self.read_messages());
    }

    /// Stores the receivers after each change, and regularly.
    async fn refresh_listeners(&self) {
        loop {
            let stored = self.listeners.store(&self.database).await;
            if let Err(error) = stored {
                tracing::warn!(%error, "the receivers cannot be stored in the database; trying again");
                tokio::time::sleep(RETRY_PAUSE).await;
            } else if !self.listeners.has_changes() {
                tokio::select! {
                    () = self.listeners.changed.notified() => {}
                    () = tokio::time::sleep(REFRESH_INTERVAL) => {}
                }
            }
        }
    }

    async fn read_messages(&self) {
        loop {
            if let Err(error) = self.read_until_error().await {
                self.is_reading.store(false, Ordering::Relaxed);
                tracing::warn!(%error, "messages cannot be read from the database; trying again");
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn read_until_error(&self) -> Result<(), FleetError> {
        let mut notifications = match self.poll_interval {
            Some(_) => None,
            None => Some(self.listen().await.map_err(|error| database_error(&error))?),
        };
        let mut poll = interval(self.poll_interval.unwrap_or(REFRESH_INTERVAL).min(REFRESH_INTERVAL));
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut removal = Instant::now();
        loop {
            tokio::select! {
                received = next_notification(&mut notifications) => {
                    received.map_err(|error| database_error(&error))?;
                }
                _ = poll.tick() => {}
            }
            self.take_all().await?;
            self.is_reading.store(true, Ordering::Relaxed);
            if Instant::now() >= removal {
                self.remove_old_rows().await?;
                removal = Instant::now() + REMOVAL_INTERVAL;
            }
        }
    }

    async fn listen(&self) -> Result<PgListener, sqlx::Error> {
        let mut listener = PgListener::connect_with(&self.database.connections.pool).await?;
        listener.listen(&self.listeners.channel()).await?;
        Ok(listener)
    }

    /// Takes the messages of this process. Those of a group that another process takes at the same time are skipped.
    async fn take_all(&self) -> Result<(), FleetError> {
        const SQL: &str = "WITH due AS (SELECT queue, id FROM {schema}.messages \
                           WHERE queue = ANY ($1) AND expires_at > now() ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) \
                           DELETE FROM {schema}.messages AS message USING due \
                           WHERE message.queue = due.queue AND message.id = due.id \
                           RETURNING message.id, message.queue, message.subject, message.reply, message.body";
        loop {
            let queues = self.listeners.queues();
            if queues.is_empty() {
                return Ok(());
            }
            let values = [Value::Texts(&queues), Value::Integer(MAX_TAKEN as i64)];
            let rows = self.database.fetch(SQL, &values).await?;
            let count = rows.len();
            let taken: Result<Vec<_>, _> = rows.iter().map(read_row).collect();
            let mut taken = taken.map_err(|error| database_error(&error))?;
            taken.sort_unstable_by_key(|(id, ..)| *id);
            for (_, queue, delivery) in taken {
                self.listeners.deliver(&queue, delivery);
            }
            if count < MAX_TAKEN {
                return Ok(());
            }
        }
    }

    /// Removes messages that were not taken in time, and receivers of processes that ended without removing them.
    async fn remove_old_rows(&self) -> Result<(), FleetError> {
        let sql = "WITH gone AS (DELETE FROM {schema}.listeners WHERE expires_at < now() - interval '1 minute') \
                   DELETE FROM {schema}.messages WHERE expires_at <= now()";
        self.database.fetch(sql, &[]).await.map(drop)
    }
}

/// Waits for a notification, or for the loss of the connection, with which notifications may be lost; without `LISTEN`, for ever.
async fn next_notification(notifications: &mut Option<PgListener>) -> Result<(), sqlx::Error> {
    let Some(listener) = notifications else { return std::future::pending().await };
    listener.try_recv().await?;
    // One statement takes the messages of all that have arrived.
    while let Some(received) = listener.try_recv().now_or_never() {
        received?;
    }
    Ok(())
}

fn read_row(row: &PgRow) -> Result<(i64, String, Delivery), sqlx::Error> {
    let body: Option<Vec<u8>> = row.try_get(4)?;
    let payload = body.map_or(Payload::NoReceiver, |body| Payload::Body(body.into()));
    let delivery = Delivery { subject: row.try_get(2)?, reply: row.try_get(3)?, payload };
    Ok((row.try_get(0)?, row.try_get(1)?, delivery))
}
