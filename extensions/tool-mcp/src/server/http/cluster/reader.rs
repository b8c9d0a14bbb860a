//! Readers that follow streams.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;

use super::event_log::{EventLog, LoggedEvent, StreamPosition};

/// The time after which a reader looks for events, should a notification be lost.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// The pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// A reader of streams.
pub(super) struct EventReader {
    log: Arc<EventLog>,
    pub(super) positions: Vec<StreamPosition>,
    notify: Arc<Notify>,
}

impl EventReader {
    /// Creates a reader of the events after `positions`.
    pub(super) fn new(log: Arc<EventLog>, positions: Vec<StreamPosition>) -> Self {
        let notify = log.wakes.subscribe(positions.iter().map(|position| &position.stream));
        Self { log, positions, notify }
    }

    /// Returns the next events, as soon as there is one. While the database fails, it tries again; when the process has left its cluster, it waits
    /// for ever.
    pub(super) async fn next_events(&mut self) -> Vec<LoggedEvent> {
        loop {
            if let Some(events) = self.available_events().await {
                return events;
            }
            self.wait_for_events(MAX_WAIT).await;
        }
    }

    /// Returns the events that there are, if there is one.
    pub(super) async fn available_events(&mut self) -> Option<Vec<LoggedEvent>> {
        loop {
            match self.log.read_after(&mut self.positions).await {
                // All that were read were altered.
                Ok((events, true)) if events.is_empty() => {}
                Ok((events, _)) => return (!events.is_empty()).then_some(events),
                // There are no more events.
                Err(_) if self.log.database.pool.is_closed() => std::future::pending().await,
                Err(error) => {
                    tracing::warn!(%error, "the events of a stream cannot be read; trying again");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    /// Waits until there may be an event, or for `time`.
    pub(super) async fn wait_for_events(&mut self, time: Duration) {
        tokio::time::timeout(time, self.notify.notified()).await.ok();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::{
        super::{Cluster, event_log::StreamKey},
        *,
    };

    #[tokio::test]
    async fn a_reader_tries_again_after_a_failure_and_passes_over_what_was_altered() {
        let Some(cluster) = Cluster::open_alone().await else { return };
        let (log, stream) = (&cluster.0.log, StreamKey::of_session("a"));
        let execute = async |sql: &str| log.database.fetch(sql, &[]).await.unwrap();
        let positions = vec![StreamPosition { stream: stream.clone(), last: StreamPosition::BEFORE_ALL }];
        let mut reader = EventReader::new(Arc::clone(log), positions);
        assert!(reader.available_events().await.is_none());
        // A whole page of altered events, and one behind it.
        for number in 0..=100 {
            log.append(&stream, &number.to_string()).await.unwrap();
        }
        execute("UPDATE {schema}.events SET number = number + 1000 WHERE number < 100").await;
        execute("ALTER TABLE {schema}.events RENAME TO other_events").await;
        let (events, _) = tokio::join!(reader.available_events(), async {
            // The table is there again when the reader has failed.
            for _ in 0..3 {
                execute("SELECT 1").await;
            }
            execute("ALTER TABLE {schema}.other_events RENAME TO events").await
        });
        let texts: Vec<_> = events.unwrap().into_iter().map(|event| event.text).collect();
        assert_eq!(texts, ["100"]);
        assert!(reader.available_events().await.is_none());
    }
}
