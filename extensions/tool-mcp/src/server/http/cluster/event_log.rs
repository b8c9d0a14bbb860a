//! The events of all processes: those of the streams of clients, and messages of processes to each other.
//!
//! An event is a row, whose text is encrypted together with its place, so that no row can be altered or moved to another stream. The ids of a
//! stream ascend in the order in which its events can be read: a reader asks for those after the last one that it has.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use sqlx::{Row as _, postgres::PgRow};
use tokio::sync::oneshot;
use tool_runtime::{definition::ContentHash, open_calls::ProgramKey};

use super::{
    ClusterError,
    database::{Database, SqlValue},
    event_queue::EventQueue,
    wakes::StreamWakes,
};

/// The most events that are read at once.
const MAX_READ: i64 = 100;

/// The name of a stream: a hash, since some of the names are secrets of clients.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct StreamKey(pub(super) String);

impl StreamKey {
    /// The stream that the SDK calls `id`.
    pub(super) fn of_sdk(id: &str) -> Self {
        Self::hash("stream", id)
    }

    /// The stream of the session itself.
    pub(super) fn of_session(session: &str) -> Self {
        Self::of_sdk(&format!("{session}:common"))
    }

    /// The messages to one process.
    pub(super) fn of_process(process: &str) -> Self {
        Self::hash("process", process)
    }

    /// The changes of tools, prompts and resources.
    pub(super) fn of_changes() -> Self {
        Self::hash("changes", "")
    }

    /// The messages to all processes.
    pub(super) fn of_all() -> Self {
        Self::hash("all", "")
    }

    fn hash(kind: &str, id: &str) -> Self {
        Self(ContentHash::of(&[kind, id]).to_string())
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoggedEvent {
    pub(super) id: i64,
    pub(super) stream: StreamKey,
    pub(super) writer: String,
    pub(super) text: String,
}

/// An event that is to be stored, once: the process numbers its events.
pub(super) struct NewEvent {
    stream: StreamKey,
    number: i64,
    pub(super) body: String,
}

#[cfg(test)]
impl NewEvent {
    pub(super) fn with_body(body: &str) -> Self {
        Self { stream: StreamKey::of_all(), number: 0, body: body.to_owned() }
    }
}

/// The last event of a stream that was read. Each stream of a reader has its own: their events can be read in any order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StreamPosition {
    pub(super) stream: StreamKey,
    pub(super) last: i64,
}

impl StreamPosition {
    /// The position before the first event of any stream.
    pub(super) const BEFORE_ALL: i64 = 0;
}

/// The events of all processes.
pub(super) struct EventLog {
    pub(super) database: Database,
    pub(super) key: ProgramKey,
    pub(super) app: String,
    /// This process.
    pub(super) process: String,
    pub(super) wakes: StreamWakes,
    pub(super) queue: EventQueue,
    /// The time after which events are removed.
    pub(super) retention: Duration,
    is_polled: bool,
    numbers: AtomicI64,
}

impl EventLog {
    pub(super) fn new(
        database: Database,
        key: ProgramKey,
        app: String,
        process: String,
        retention: Duration,
        is_polled: bool,
    ) -> Self {
        let (wakes, queue, numbers) = (StreamWakes::default(), EventQueue::default(), AtomicI64::new(0));
        Self { database, key, app, process, wakes, queue, retention, is_polled, numbers }
    }

    /// Appends an event at once.
    ///
    /// # Errors
    ///
    /// If the database does not answer in time.
    pub(super) async fn append(&self, stream: &StreamKey, text: &str) -> Result<(), ClusterError> {
        let event = self.seal_new_event(stream, text)?;
        self.store_events(std::iter::once(&event)).await.map(drop)
    }

    /// Appends an event, and returns its id. If the database does not answer in time, the event is stored later, and has no id.
    ///
    /// # Errors
    ///
    /// If the event is lost.
    pub(super) async fn append_or_store_later(
        &self,
        stream: &StreamKey,
        text: &str,
    ) -> Result<Option<i64>, ClusterError> {
        let (sender, id) = oneshot::channel();
        self.queue.push(self.seal_new_event(stream, text)?, Some(sender))?;
        id.await.map_err(|_| ClusterError::Unavailable("an event is lost".to_owned()))
    }

    /// Appends an event soon, without a wait.
    ///
    /// # Errors
    ///
    /// If the event is lost.
    pub(super) fn append_later(&self, stream: &StreamKey, text: &str) -> Result<(), ClusterError> {
        self.queue.push(self.seal_new_event(stream, text)?, None)
    }

    fn seal_new_event(&self, stream: &StreamKey, text: &str) -> Result<NewEvent, ClusterError> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let body = self.seal(text, &["event", &stream.0, &self.process, &number.to_string()])?;
        Ok(NewEvent { stream: stream.clone(), number, body })
    }

    /// Stores events that are not stored yet, in one statement, and returns their ids.
    pub(super) async fn store_events(
        &self,
        events: impl Iterator<Item = &NewEvent> + Clone,
    ) -> Result<Vec<i64>, ClusterError> {
        let streams: Vec<&str> = events.clone().map(|event| &*event.stream.0).collect();
        let numbers: Vec<i64> = events.clone().map(|event| event.number).collect();
        let bodies: Vec<&str> = events.map(|event| &*event.body).collect();
        let channel = if self.is_polled { "" } else { &*self.database.schema };
        let values = [
            SqlValue::Text(&self.app),
            SqlValue::Text(&self.process),
            SqlValue::Texts(&streams),
            SqlValue::Integers(&numbers),
            SqlValue::Texts(&bodies),
            SqlValue::Text(channel),
        ];
        let sql = "SELECT {schema}.append_events($1, $2, $3, $4, $5, $6)";
        let rows = self.database.fetch(sql, &values).await?;
        streams.iter().for_each(|stream| self.wakes.wake(stream));
        decode_first_value(&rows)
    }

    /// Returns the events of streams after `positions`, which it advances, and whether there are more. An event that was altered is left out, and
    /// logged.
    pub(super) async fn read_after(
        &self,
        positions: &mut [StreamPosition],
    ) -> Result<(Vec<LoggedEvent>, bool), ClusterError> {
        let sql = "SELECT e.id, e.stream, e.writer, e.number, e.body FROM {schema}.events AS e \
                   JOIN unnest($2::text[], $3::bigint[]) AS p (stream, last) ON e.stream = p.stream AND e.id > p.last \
                   WHERE e.app = $1 AND e.stored_at > now() - make_interval(secs => $4) ORDER BY e.id LIMIT $5";
        let streams: Vec<_> = positions.iter().map(|position| &*position.stream.0).collect();
        let last: Vec<_> = positions.iter().map(|position| position.last).collect();
        let values = [
            SqlValue::Text(&self.app),
            SqlValue::Texts(&streams),
            SqlValue::Integers(&last),
            SqlValue::Seconds(self.retention),
            SqlValue::Integer(MAX_READ),
        ];
        let rows = self.database.fetch(sql, &values).await?;
        let is_full = i64::try_from(rows.len()).is_ok_and(|rows| rows == MAX_READ);
        let mut events = Vec::with_capacity(rows.len());
        for row in &rows {
            let (id, stream): (i64, StreamKey) = (decode_column(row, 0)?, StreamKey(decode_column(row, 1)?));
            if let Some(position) = positions.iter_mut().find(|position| position.stream == stream) {
                position.last = id;
            }
            events.extend(self.decrypt_event(row)?);
        }
        Ok((events, is_full))
    }

    /// Returns the event of a row, unless it was altered.
    fn decrypt_event(&self, row: &PgRow) -> Result<Option<LoggedEvent>, ClusterError> {
        let (id, stream, writer): (i64, String, String) =
            (decode_column(row, 0)?, decode_column(row, 1)?, decode_column(row, 2)?);
        let (number, body): (i64, String) = (decode_column(row, 3)?, decode_column(row, 4)?);
        let text = self.unseal(&body, &["event", &stream, &writer, &number.to_string()]);
        if text.is_none() {
            tracing::error!(event = id, "an event of the database was altered, and is left out");
        }
        Ok(text.map(|text| LoggedEvent { id, stream: StreamKey(stream), writer, text }))
    }

    /// Returns the id of the last event of all streams.
    pub(super) async fn last_event_id(&self) -> Result<i64, ClusterError> {
        let sql = "SELECT coalesce(max(id), 0) FROM {schema}.events";
        decode_first_value(&self.database.fetch(sql, &[]).await?)
    }

    /// Encrypts `text` for its place in the database.
    pub(super) fn seal(&self, text: &str, place: &[&str]) -> Result<String, ClusterError> {
        let sealed = self.key.seal(text, &self.place_bytes(place));
        sealed.map_err(|problem| ClusterError::Failed(format!("a row cannot be encrypted: {problem}")))
    }

    /// Decrypts a text of this place; `None` if it was altered.
    pub(super) fn unseal(&self, sealed: &str, place: &[&str]) -> Option<String> {
        self.key.unseal(sealed, &self.place_bytes(place))
    }

    /// The parts of a place with their lengths, so that no two places have the same bytes.
    fn place_bytes(&self, place: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in ["tool-mcp cluster 1", &self.app].iter().chain(place) {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        bytes
    }
}

/// Decodes a column.
pub(super) fn decode_column<'r, T>(row: &'r PgRow, index: usize) -> Result<T, ClusterError>
where
    T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    row.try_get(index).map_err(|error| ClusterError::Failed(format!("a row cannot be read: {error}")))
}

/// Decodes the first column of the first row.
pub(super) fn decode_first_value<'r, T>(rows: &'r [PgRow]) -> Result<T, ClusterError>
where
    T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    let row = rows.first().ok_or_else(|| ClusterError::Failed("the database sent no row".to_owned()))?;
    decode_column(row, 0)
}

#[cfg(test)]
impl EventLog {
    /// Creates a log whose database does not answer. Needs a `tokio` runtime.
    #[allow(clippy::unwrap_used, reason = "a test may")]
    pub(super) fn without_database() -> std::sync::Arc<Self> {
        let key = ProgramKey::new([7; 32]);
        let options = super::ClusterOptions::new("postgres://none@127.0.0.1:1/none", key.clone()).unwrap();
        let (database, retention) = (Database::new(&options), options.event_retention);
        std::sync::Arc::new(Self::new(database, key, options.app, "process".to_owned(), retention, false))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_stream_has_keys_of_its_own() {
        let keys = [
            StreamKey::of_sdk("a"),
            StreamKey::of_sdk("b"),
            StreamKey::of_session("a"),
            StreamKey::of_process("a"),
            StreamKey::of_changes(),
            StreamKey::of_all(),
        ];
        for (number, key) in keys.iter().enumerate() {
            assert!(!keys[..number].contains(key), "{number}");
        }
        assert_eq!(StreamKey::of_session("a"), StreamKey::of_sdk("a:common"));
    }

    #[tokio::test]
    async fn a_text_is_unsealed_at_its_own_place_alone() {
        let log = EventLog::without_database();
        let sealed = log.seal("text", &["session", "ab"]).unwrap();
        assert_eq!(log.unseal(&sealed, &["session", "ab"]).as_deref(), Some("text"));
        for place in [&["session", "a"][..], &["sessiona", "b"], &["session", "a", "b"], &["session"], &[]] {
            assert_eq!(log.unseal(&sealed, place), None, "{place:?}");
        }
        assert_eq!(log.unseal("text", &["session", "ab"]), None);
    }

    #[tokio::test]
    async fn the_place_of_a_text_has_each_part_with_its_length() {
        let log = EventLog::without_database();
        let part = |text: &str| [&(text.len() as u64).to_be_bytes()[..], text.as_bytes()].concat();
        let expected = ["tool-mcp cluster 1", "mcp", "event", ""].map(part).concat();
        assert_eq!(log.place_bytes(&["event", ""]), expected);
    }

    #[tokio::test]
    async fn the_events_of_a_process_have_ascending_numbers_to_which_they_are_bound() {
        let (log, stream) = (EventLog::without_database(), StreamKey::of_all());
        for number in 0..3 {
            let event = log.seal_new_event(&stream, "text").unwrap();
            assert_eq!((event.number, &event.stream), (number, &stream));
            let place =
                |number: i64| log.unseal(&event.body, &["event", &stream.0, "process", &number.to_string()]);
            assert_eq!((place(number).as_deref(), place(number + 1)), (Some("text"), None));
        }
    }

    #[tokio::test]
    async fn an_event_that_is_appended_later_waits_in_the_queue() {
        let log = EventLog::without_database();
        let is_stored = || futures_util::FutureExt::now_or_never(log.queue.wait_until_stored()).is_some();
        assert!(is_stored());
        log.append_later(&StreamKey::of_all(), "text").unwrap();
        assert!(!is_stored());
    }
}
