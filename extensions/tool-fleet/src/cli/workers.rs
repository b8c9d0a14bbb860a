//! `fleet workers`.

use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt as _;
use serde::Serialize;
use tool_cli::{Exit, Failure};
use tool_runtime::definition::ContentHash;

use super::{connection::connection_failure, fleet::FleetRequest};
use crate::{
    Deliveries, Delivery, FleetError, Payload,
    channel::{Channel, Received},
    message::{Message, WorkerStatus},
};

/// The limit of workers that are counted.
const MAX_WORKERS: usize = 100_000;

/// A worker that answered.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct ListedWorker {
    pub(super) worker: String,
    pub(super) state: ListedState,
    /// The calls that it runs, and the limit of it.
    pub(super) calls: usize,
    slots: usize,
    tools: usize,
    /// The hash over its tools: workers of one version of a program have the same one.
    registry: ContentHash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ListedState {
    Serving,
    /// It takes no more calls, and ends those that it runs.
    Draining,
}

impl ListedState {
    fn name(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::Draining => "draining",
        }
    }
}

impl ListedWorker {
    pub(super) fn new(worker: String, status: WorkerStatus) -> Self {
        let WorkerStatus { registry, tools, calls, slots, drain_left } = status;
        let state = if drain_left.is_some() { ListedState::Draining } else { ListedState::Serving };
        Self { worker, state, calls, slots, tools, registry }
    }
}

/// Lists the workers of a pool that answer.
pub(super) fn list_workers(request: &FleetRequest<'_>) -> Result<Exit, Failure> {
    let program = request.program;
    let wait = request.matches.get_one::<u32>("wait").copied().unwrap_or_default();
    let channel = request.connection.channel().map_err(|error| connection_failure(&error))?;
    let found = program.block_on(find_workers(&channel, Duration::from_secs(wait.into()), &[]))?;
    let workers = found.map_err(|error| connection_failure(&error))?;
    if workers.is_empty() {
        return Err(no_worker_failure(channel.pool()));
    }
    let workers = request.limit_rows(workers);
    if request.has_json_output() {
        request.print_json(&workers)?;
    } else {
        let row = |it: ListedWorker| {
            let calls = format!("{} of {}", it.calls, it.slots);
            let registry = FleetRequest::short_hash(&it.registry);
            [it.worker, it.state.name().to_owned(), calls, it.tools.to_string(), registry]
        };
        let header = ["Worker", "State", "Calls", "Tools", "Registry"];
        program.print_table(header, workers.into_iter().map(row))?;
    }
    Ok(Exit::Done)
}

pub(super) fn no_worker_failure(pool: &str) -> Failure {
    let problem = format!(
        "no worker of the pool `{pool}` answers; start one, or check that both sides have the same broker, the same name of the pool (`--pool`), and a key of \
         the same program key"
    );
    Failure::quoting(Exit::Failed, problem)
}

/// Asks for workers, twice, and returns those that answer in time, by name; at once if all of `names` have answered, unless there are none.
pub(super) async fn find_workers(
    channel: &Channel,
    wait: Duration,
    names: &[&str],
) -> Result<Vec<ListedWorker>, FleetError> {
    let (subject, reply) = (channel.subject("status"), channel.own_subject("workers"));
    let mut answers = channel.listen(&reply, None).await?;
    let mut workers = BTreeMap::new();
    // For workers that begin to serve meanwhile.
    for _ in 0..2 {
        channel.send_message(&subject, Some(&reply), Message::ReadStatus).await?;
        let reading = read_statuses(channel, &mut answers, &mut workers, names);
        match tokio::time::timeout(wait / 2, reading).await {
            Ok(Err(error)) => return Err(error),
            Ok(Ok(())) => break,
            Err(_) => {}
        }
    }
    Ok(workers.into_values().collect())
}

/// Reads until all of `names` have answered.
///
/// # Errors
///
/// If the stream ends before.
async fn read_statuses(
    channel: &Channel,
    answers: &mut Deliveries,
    workers: &mut BTreeMap<String, ListedWorker>,
    names: &[&str],
) -> Result<(), FleetError> {
    while let Some(delivery) = answers.next().await {
        let Some(Received { sender, message, .. }) = open_answer(channel, &delivery) else { continue };
        let Message::Status(status) = message else { continue };
        if workers.len() < MAX_WORKERS {
            workers.insert(sender.clone(), ListedWorker::new(sender, status));
        }
        if !names.is_empty() && names.iter().all(|name| workers.contains_key(*name)) {
            return Ok(());
        }
    }
    Err(FleetError::Transport("the connection is closed".to_owned()))
}

/// Opens an answer of a worker; `None` for the notice that there is no receiver, and what is not of the pool.
pub(super) fn open_answer(channel: &Channel, delivery: &Delivery) -> Option<Received> {
    let Payload::Body(body) = &delivery.payload else { return None };
    channel.open_message(&delivery.subject, delivery.reply.as_deref(), body)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may")]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use tokio::time::Instant;
    use tool_runtime::{CancellationToken, Executor, Registry, open_calls::ProgramKey};

    use super::*;
    use crate::{MemoryTransport, Worker};

    #[test]
    fn a_worker_drains_while_it_has_time_left_to_do_so() {
        for (drain_left, state) in [(None, "serving"), (Some(0), "draining"), (Some(5_000), "draining")] {
            let registry = ContentHash::of("tools");
            let status = WorkerStatus { registry, tools: 7, calls: 2, slots: 16, drain_left };
            let listed = ListedWorker::new("a".to_owned(), status);
            assert_eq!(listed.state.name(), state);
            let expected = json!({
                "worker": "a", "state": state, "calls": 2, "slots": 16, "tools": 7, "registry": registry,
            });
            assert_eq!(serde_json::to_value(listed).unwrap(), expected);
        }
    }

    #[test]
    fn a_pool_without_a_worker_that_answers_is_a_failure_that_names_it() {
        let failure = no_worker_failure("trip").to_string();
        assert!(
            failure.contains("no worker of the pool `trip` answers; start one, or check that"),
            "{failure}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn workers_that_answer_are_listed_and_those_that_have_left_are_not() {
        let (transport, key) = (MemoryTransport::new(), ProgramKey::new([7; 32]).pool_key("trip"));
        let channel = Channel::new(key.clone(), Arc::new(transport.clone())).unwrap();
        let wait = Duration::from_secs(2);
        let start = Instant::now();
        assert_eq!(find_workers(&channel, wait, &[]).await.unwrap(), []);
        assert_eq!(start.elapsed(), wait);
        let stops = [(); 2].map(|()| CancellationToken::new());
        let mut serving = stops.clone().map(|stop| {
            let tools = Registry::builder().build().unwrap();
            tokio::spawn(Worker::new(Executor::new(tools), key.clone()).serve(transport.clone(), stop))
        });
        // Of another pool, and with another key: they are not of this pool.
        for other in [ProgramKey::new([7; 32]).pool_key("mail"), ProgramKey::new([8; 32]).pool_key("trip")] {
            let tools = Registry::builder().build().unwrap();
            let worker = Worker::new(Executor::new(tools), other);
            tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()));
        }
        let both = find_workers(&channel, wait, &[]).await.unwrap();
        let rows: Vec<_> = both.iter().map(|it| (it.state, it.calls, it.slots, it.tools)).collect();
        assert_eq!(rows, [(ListedState::Serving, 0, 16, 0); 2]);
        assert_eq!(both[0].registry, both[1].registry);
        // Without waiting for others.
        let start = Instant::now();
        find_workers(&channel, wait, &[&both[1].worker, &both[0].worker]).await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
        stops[0].cancel();
        (&mut serving[0]).await.unwrap().unwrap();
        assert_eq!(find_workers(&channel, wait, &[]).await.unwrap().len(), 1);
        stops[1].cancel();
        (&mut serving[1]).await.unwrap().unwrap();
    }
}
