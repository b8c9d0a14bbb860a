//! Several processes that serve the same sessions, in front of one database.
//!
//! Any process answers any request. The database has what they share: the sessions, the events of streams, the used states, and the messages of
//! processes to each other. A message is an event of a stream that other processes read; `NOTIFY` carries the name of its stream, and the row the
//! message, which may be large.
//!
//! A call runs in the process that received it, and is never sent again. What belongs to it finds that process: the id of a question names it, and
//! a cancellation goes to all.

mod calls;
mod database;
mod error;
mod event_log;
mod event_queue;
mod http_server;
mod http_sessions;
mod listener;
mod messages;
mod migration;
mod options;
mod processes;
mod reader;
mod session_checks;
mod sessions;
mod stores;
mod streams;
mod tasks;
mod wakes;

use std::{fmt, sync::Arc};

use tokio::{runtime::Handle, sync::watch};
use tokio_util::task::AbortOnDropHandle;
use tool_runtime::{call::CallId, open_calls::ProgramKey};

use self::{
    calls::ReservedCalls,
    database::{Database, SqlValue},
    event_log::{EventLog, decode_first_value},
    processes::ClusterProcesses,
    session_checks::SessionChecks,
    sessions::SessionLimits,
    streams::EventToken,
};
pub(in crate::server) use self::{
    calls::{CountedCall, CountedCaller},
    messages::ClusterLink,
    tasks::NewTask,
};
pub use self::{error::ClusterError, options::ClusterOptions};
pub(super) use self::{
    http_sessions::{refuse_if_event_store_failed, refuse_without_database},
    messages::ServingTasks,
};

/// Several processes that serve the same sessions behind a load balancer, without sticky sessions: [`HttpConfig::cluster`]. Clones are the same
/// process of the cluster.
///
/// The processes share a database of Postgres 14 or later, whose encoding is `UTF8`, and a [`ProgramKey`]. The tables are in a schema of their own,
/// which is made when the first process opens it. Rows are encrypted under the key, and a row that was altered is refused.
///
/// Each server of a program has its own cluster.
///
/// # Failures
///
/// | failure | effect |
/// | --- | --- |
/// | the database does not answer | a request waits for [`ClusterOptions::operation_timeout`]; then it has status 503 with `Retry-After`, and nothing was done for it |
/// | the database does not answer when a call has ended | the call is answered; the answer is stored when the database returns, for a client that resumes the stream |
/// | a process ends | its calls are not run again: a client that resumes the stream of a call, or asks for a task, receives an error; what it ran counts for no limit |
/// | a process is not seen for [`ClusterOptions::process_timeout`] | it counts as ended after a few more looks |
/// | a client resumes a stream after [`ClusterOptions::event_retention`] | older events are gone |
/// | a session is closed, or idle for [`HttpConfig::idle_time`] | all processes answer with status 404, at the latest when the request that closes it is answered |
/// | a row was altered | a session has status 404, an event or a setting is left out; both are logged |
///
/// For up to 100 ms after a process has found a session in the database, it admits requests of the session without another look; a session that is
/// closed has ended everywhere when the request that closes it is answered.
///
/// All processes of a cluster are to offer the same tools, prompts and resources: those that a process adds while it runs are listed there alone.
///
/// A subscription to a resource is passed to [`Resources::subscribe`] of the process that receives it, and ends there with that process; changes that
/// any process signals reach all clients. If a client opens several streams of a session at once, each has all changes.
///
/// # Examples
///
/// ```no_run
/// use tool_mcp::server::{Cluster, HttpConfig, McpServer};
/// use tool_runtime::{CancellationToken, open_calls::ProgramKey, prelude::*};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// let key = ProgramKey::load_or_create("program.key")?;
/// let cluster = Cluster::connect("postgres://app@db.example/mcp", key).await?;
/// let config = HttpConfig::new().any_host().cluster(cluster.clone());
/// let server = McpServer::new(Registry::discover()?).http_with(config)?;
/// let listener = tokio::net::TcpListener::bind("0.0.0.0:3001").await?;
/// server.serve(listener, CancellationToken::new()).await?;
/// cluster.close().await;
/// # Ok(())
/// # }
/// ```
///
/// [`HttpConfig::cluster`]: crate::server::HttpConfig::cluster
/// [`HttpConfig::idle_time`]: crate::server::HttpConfig::idle_time
/// [`Resources::subscribe`]: crate::server::Resources::subscribe
#[derive(Clone)]
pub struct Cluster(Arc<ClusterState>);

struct ClusterState {
    log: Arc<EventLog>,
    processes: Arc<ClusterProcesses>,
    calls: Arc<ReservedCalls>,
    session_checks: SessionChecks,
    /// The last event before the process joined.
    first_event: i64,
    /// The last change of which this process has heard, after all messages before it.
    last_change: watch::Sender<i64>,
    /// Seals the ids of sessions and events, and the states of calls.
    seal_key: [u8; 32],
    runtime: Handle,
    /// The tasks that wait for messages, show that the process lives, store events and return calls.
    _tasks: [AbortOnDropHandle<()>; 4],
}

impl Cluster {
    /// Joins the cluster of the database at `url` with default settings; see [`ClusterOptions`]. Needs a `tokio` runtime.
    ///
    /// # Errors
    ///
    /// As [`ClusterOptions::new`] and [`ClusterOptions::open`].
    pub async fn connect(url: &str, key: ProgramKey) -> Result<Self, ClusterError> {
        ClusterOptions::new(url, key)?.open().await
    }

    async fn open(options: ClusterOptions) -> Result<Self, ClusterError> {
        let database = Database::new(&options);
        migration::migrate_schema(&database).await?;
        let ClusterOptions { key, app, event_retention, process_timeout, poll_interval, .. } = options;
        let process = CallId::generate().to_string();
        let log = EventLog::new(database, key, app, process, event_retention, poll_interval.is_some());
        let log = Arc::new(log);
        let seal_key = load_or_create_seal_key(&log).await?;
        let calls = Arc::new(ReservedCalls::new(Arc::clone(&log), process_timeout));
        let processes =
            Arc::new(ClusterProcesses::new(Arc::clone(&log), Arc::clone(&calls), process_timeout));
        processes.beat_and_remove_expired().await?;
        let first_event = log.last_event_id().await?;
        let runtime = Handle::current();
        let listening = listener::wake_readers(Arc::downgrade(&log), poll_interval);
        let beating = processes::beat_regularly(Arc::downgrade(&processes));
        let storing = event_queue::store_queued_events(Arc::clone(&log));
        let returning = calls::keep_returning_unused_calls(Arc::clone(&calls));
        #[expect(clippy::disallowed_methods, reason = "the cluster aborts them")]
        let tasks = [
            runtime.spawn(listening),
            runtime.spawn(beating),
            runtime.spawn(storing),
            runtime.spawn(returning),
        ];
        let _tasks = tasks.map(AbortOnDropHandle::new);
        Ok(Self(Arc::new(ClusterState {
            log,
            processes,
            calls,
            session_checks: SessionChecks::default(),
            first_event,
            last_change: watch::Sender::new(first_event),
            seal_key,
            runtime,
            _tasks,
        })))
    }

    /// Leaves the cluster, for all clones: calls of this process that have no answer count as ended for the others. To be called when the server
    /// has ended. Answers that are not stored yet are stored before, if it answers in time.
    pub async fn close(&self) {
        let database = &self.0.log.database;
        if tokio::time::timeout(database.timeout(), self.0.log.queue.wait_until_stored()).await.is_err() {
            tracing::error!("events are lost: the database does not answer");
        }
        if let Err(error) = self.0.processes.remove_this_process().await {
            tracing::warn!(%error, "the process cannot be signed off; it counts as ended after a while");
        }
        database.close().await;
    }

    /// Returns the key that seals the ids of sessions and events, and the states of calls.
    pub(super) fn seal_key(&self) -> [u8; 32] {
        self.0.seal_key
    }
}

#[cfg(test)]
impl Cluster {
    /// Joins a cluster of its own; `None` if the machine has no server.
    #[allow(clippy::unwrap_used, reason = "a test may")]
    async fn open_alone() -> Option<Self> {
        let url = test_support::postgres::shared_url()?;
        let options = ClusterOptions::new(&url, ProgramKey::new([7; 32])).unwrap();
        Some(options.schema(test_support::postgres::new_schema()).unwrap().open().await.unwrap())
    }
}

/// Returns the key of the server, which the first process makes.
async fn load_or_create_seal_key(log: &EventLog) -> Result<[u8; 32], ClusterError> {
    const PLACE: [&str; 1] = ["server"];
    let key = crate::server::seal::random_key()
        .map_err(|error| ClusterError::Failed(format!("no random numbers are available: {error}")))?;
    let text = serde_json::to_string(&key)
        .map_err(|error| ClusterError::Failed(format!("the key cannot be written: {error}")))?;
    let body = log.seal(&text, &PLACE)?;
    let insert = "INSERT INTO {schema}.servers (app, body) VALUES ($1, $2) ON CONFLICT (app) DO NOTHING";
    log.database.fetch(insert, &[SqlValue::Text(&log.app), SqlValue::Text(&body)]).await?;
    let select = "SELECT body FROM {schema}.servers WHERE app = $1";
    let body: String = decode_first_value(&log.database.fetch(select, &[SqlValue::Text(&log.app)]).await?)?;
    let key = log.unseal(&body, &PLACE).and_then(|text| serde_json::from_str(&text).ok());
    key.ok_or_else(|| ClusterError::OtherKey(log.app.clone()))
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("app", &self.0.log.app)
            .field("process", &self.0.log.process)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::{event_log::StreamKey, *};

    #[tokio::test]
    async fn a_process_that_leaves_has_stored_its_events_and_is_signed_off() {
        let Some(cluster) = Cluster::open_alone().await else { return };
        let log = &cluster.0.log;
        let other = Database::new(
            &ClusterOptions::new(&test_support::postgres::shared_url().unwrap(), log.key.clone())
                .unwrap()
                .schema(&*log.database.schema)
                .unwrap(),
        );
        let count = async |table: &str| -> i64 {
            let sql = format!("SELECT count(*) FROM {{schema}}.{table}");
            decode_first_value(&other.fetch(&sql, &[]).await.unwrap()).unwrap()
        };
        assert_eq!((count("events").await, count("processes").await), (0, 1));
        for _ in 0..3 {
            log.append_later(&StreamKey::of_all(), "text").unwrap();
        }
        cluster.close().await;
        assert_eq!((count("events").await, count("processes").await), (3, 0));
        assert!(log.database.pool.is_closed());
    }
}
