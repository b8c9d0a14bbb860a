//! A transport by a database of Postgres.
//!
//! A receiver is a row with the pattern of its subjects, which its process refreshes. A sender finds the receivers of a subject, stores a row
//! for each one and for each group, and notifies their processes, in one statement; the body is in the row, since a notification is limited to
//! 8,000 bytes. The members of a group share a queue, from which each message is taken once (`SKIP LOCKED`).

mod connections;
mod database;
mod listeners;
mod migration;
mod options;
mod reader;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use sqlx::postgres::PgRow;
use tokio::task::JoinHandle;
use tool_runtime::BoxFuture;

pub(crate) use self::database::{Value, read_column};
pub use self::options::PostgresOptions;
use self::{
    database::{Database, Deadline, Lane},
    listeners::Listeners,
    reader::Reader,
};
use super::{Deliveries, Transport};
use crate::{FleetError, channel::random_name};

/// The time after which a message that was not taken is removed, as long as a sealed message is valid.
const MESSAGE_LIFETIME: Duration = Duration::from_secs(60);

/// A transport by a database of Postgres 14 or later, for programs that have one. Clones share its connections.
///
/// Messages are rows of an unlogged table: a crash of the server loses those that are on their way, which workers and callers expect. While
/// the database is gone, a message waits for it for the [operation timeout](PostgresOptions::operation_timeout), and then its sender
/// receives an error; receivers go on once it is back. The receivers of a process that was killed count as gone after 6 seconds.
///
/// A client of the database with rights on the tables can read subjects, sizes and times, and delete messages; bodies are sealed. Roles and
/// schemas can separate pools.
///
/// # Examples
///
/// ```no_run
/// use tool_fleet::{FleetToolSet, PostgresTransport};
/// use tool_runtime::{Toolbox, open_calls::ProgramKey};
///
/// # async fn example() -> anyhow::Result<()> {
/// let key = ProgramKey::load_or_create("program.key")?.pool_key("weather");
/// let transport = PostgresTransport::connect("postgres://app@db.example/tools").await?;
/// // It keeps the connection.
/// let toolbox = Toolbox::new();
/// toolbox.add_toolset(FleetToolSet::connect(transport, key).await?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresTransport(Arc<Connection>);

pub(crate) struct Connection {
    database: Arc<Database>,
    listeners: Arc<Listeners>,
    max_bytes: usize,
    /// `false` after messages could not be read, until they are.
    is_reading: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.reader.abort();
        self.listeners.close();
    }
}

impl PostgresTransport {
    /// Connects to the database at `url`, such as `postgres://user:password@host:5432/database`, with default settings.
    ///
    /// # Errors
    ///
    /// As [`PostgresOptions::new`] and [`PostgresOptions::connect`].
    pub async fn connect(url: &str) -> Result<Self, FleetError> {
        PostgresOptions::new(url)?.connect().await
    }

    pub(crate) fn connection(&self) -> Arc<Connection> {
        Arc::clone(&self.0)
    }

    async fn open(options: PostgresOptions) -> Result<Self, FleetError> {
        let database = Arc::new(Database::new(&options));
        migration::migrate(&database).await?;
        let listeners = Arc::new(Listeners::new(random_name()?));
        let is_reading = Arc::new(AtomicBool::new(true));
        let reader = Reader {
            database: Arc::clone(&database),
            listeners: Arc::clone(&listeners),
            poll_interval: options.poll_interval,
            is_reading: Arc::clone(&is_reading),
        };
        #[expect(clippy::disallowed_methods, reason = "the connection aborts it when it is dropped")]
        let reader = tokio::spawn(reader.run());
        let max_bytes = options.max_bytes;
        Ok(Self(Arc::new(Connection { database, listeners, max_bytes, is_reading, reader })))
    }
}

impl Connection {
    /// Runs a statement of another module, in which `{schema}` stands for the schema.
    pub(crate) async fn fetch(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<PgRow>, FleetError> {
        self.database.fetch(sql, values).await
    }

    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Stores a message for each receiver of `subject`, and returns their number. Without a body, it says that there was no receiver.
    async fn store_message(
        &self,
        subject: &str,
        reply: Option<&str>,
        body: Option<&[u8]>,
        deadline: Deadline,
    ) -> Result<usize, FleetError> {
        let sql = "WITH live AS (SELECT process, queue, group_name FROM {schema}.listeners \
                   WHERE pattern = ANY ($1) AND expires_at > now()), \
                   member AS (SELECT DISTINCT ON (group_name) process, queue FROM live \
                   WHERE group_name IS NOT NULL ORDER BY group_name, random()), \
                   receiver AS (SELECT process, queue FROM live WHERE group_name IS NULL \
                   UNION ALL SELECT process, queue FROM member), \
                   stored AS (INSERT INTO {schema}.messages (queue, subject, reply, body, expires_at) \
                   SELECT queue, $2, $3, $4, now() + make_interval(secs => $5) FROM receiver) \
                   SELECT pg_notify('tool_fleet_' || process, '') FROM receiver";
        let patterns = patterns_of(subject);
        let values = [
            Value::Texts(&patterns),
            Value::Text(subject),
            Value::OptionalText(reply),
            Value::OptionalBytes(body),
            Value::Seconds(MESSAGE_LIFETIME),
        ];
        Ok(self.database.fetch_until(sql, &values, deadline, Lane::Shared).await?.len())
    }
}

impl Transport for PostgresTransport {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async move {
            let connection = &self.0;
            let (bytes, limit) = (body.len(), connection.max_bytes);
            if bytes > limit {
                return Err(FleetError::TooLarge { bytes, limit });
            }
            let deadline = connection.database.deadline();
            // What left this process before the message does not receive it.
            connection.listeners.wait_for_removals(deadline).await?;
            let receivers = connection.store_message(subject, reply, Some(&body), deadline).await?;
            if receivers == 0
                && let Some(reply) = reply
            {
                connection.store_message(reply, None, None, deadline).await?;
            }
            Ok(())
        })
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        Box::pin(async move {
            let Connection { database, listeners, .. } = &*self.0;
            let closed = || FleetError::Transport("the transport is closed".to_owned());
            let (registration, receiver) = listeners.add(pattern, group).ok_or_else(closed)?;
            registration.wait_until_stored(database.deadline()).await?;
            let next = |(mut receiver, registration): (tokio::sync::mpsc::Receiver<_>, _)| async {
                Some((receiver.recv().await?, (receiver, registration)))
            };
            Ok(stream::unfold((receiver, registration), next).boxed())
        })
    }

    fn max_bytes(&self) -> usize {
        self.0.max_bytes
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), FleetError>> {
        Box::pin(self.0.listeners.wait_for_changes(self.0.database.deadline()))
    }

    fn is_connected(&self) -> bool {
        self.0.is_reading.load(Ordering::Relaxed) && self.0.listeners.is_stored()
    }
}

impl fmt::Debug for PostgresTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresTransport").field("schema", &self.0.database.schema).finish_non_exhaustive()
    }
}

/// Returns the patterns that match a subject: the subject, and each of its beginnings up to a dot.
fn patterns_of(subject: &str) -> Vec<String> {
    let beginnings = subject.match_indices('.').map(|(dot, _)| &subject[..=dot]);
    let beginnings = beginnings.filter(|start| start.len() < subject.len()).map(|start| format!("{start}>"));
    beginnings.chain([subject.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_of_a_subject_are_itself_and_its_beginnings() {
        assert_eq!(patterns_of("tools.trip.calls"), ["tools.>", "tools.trip.>", "tools.trip.calls"]);
        assert_eq!(patterns_of("tools"), ["tools"]);
        assert_eq!(patterns_of("tools."), ["tools."]);
    }
}
