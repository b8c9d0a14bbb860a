//! `fleet workers`.

use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt as _;
use serde::Serialize;
use tokio::time::Instant;
use tool_cli::{Exit, Failure};
use tool_runtime::definition::ContentHash;

use super::{connection::connection_failure, fleet::FleetRequest};
use crate::{
    Deliveries, FleetError, Payload,
    channel::{Channel, Received},
    message::{Announcement, Message},
};

/// The limit of workers that are counted.
const MAX_WORKERS: usize = 100_000;

/// A worker that answered.
#[derive(Debug, PartialEq, Serialize)]
struct ListedWorker {
    worker: String,
    tools: usize,
    /// The hash over its tools: workers of one version of a program have the same one.
    registry: ContentHash,
}

/// Lists the workers of a pool that answer.
pub(super) fn list_workers(request: &FleetRequest<'_>) -> Result<Exit, Failure> {
    let program = request.program;
    let wait = request.matches.get_one::<u32>("wait").copied().unwrap_or_default();
    let channel = request.connection.channel().map_err(|error| connection_failure(&error))?;
    let found = program.block_on(find_workers(&channel, Duration::from_secs(wait.into())))?;
    let workers = found.map_err(|error| connection_failure(&error))?;
    if workers.is_empty() {
        let pool = channel.pool();
        return Err(Failure::quoting(
            Exit::Failed,
            format!(
                "no worker of the pool `{pool}` answers; start one, or check that both sides have the key of the pool"
            ),
        ));
    }
    let workers = request.limit_rows(workers);
    if request.has_json_output() {
        request.print_json(&workers)?;
    } else {
        let row = |it: ListedWorker| [it.worker, it.tools.to_string(), it.registry.to_string()];
        program.print_table(["Worker", "Tools", "Registry"], workers.into_iter().map(row))?;
    }
    Ok(Exit::Done)
}

/// Asks for workers, and returns those that answer or announce themselves in time, by name.
async fn find_workers(channel: &Channel, wait: Duration) -> Result<Vec<ListedWorker>, FleetError> {
    let subject = channel.subject("announcements");
    let mut announcements = channel.listen(&subject, None).await?;
    channel.send_message(&channel.subject("discover"), Some(&subject), Message::Discover).await?;
    let mut workers = BTreeMap::new();
    let reading = read_announcements(channel, &mut announcements, &mut workers);
    match tokio::time::timeout_at(Instant::now() + wait, reading).await {
        Ok(()) => Err(FleetError::Transport("the connection is closed".to_owned())),
        Err(_) => Ok(workers.into_values().collect()),
    }
}

/// Reads until the stream ends.
async fn read_announcements(
    channel: &Channel,
    announcements: &mut Deliveries,
    workers: &mut BTreeMap<String, ListedWorker>,
) {
    while let Some(delivery) = announcements.next().await {
        let Payload::Body(body) = &delivery.payload else { continue };
        let opened = channel.open_message(&delivery.subject, delivery.reply.as_deref(), body);
        let Some(Received { sender, message, .. }) = opened else { continue };
        match message {
            Message::Announce(Announcement { registry, tools }) if workers.len() < MAX_WORKERS => {
                workers.insert(sender.clone(), ListedWorker { worker: sender, tools, registry });
            }
            Message::Leave => drop(workers.remove(&sender)),
            _ => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may")]
mod tests {
    use std::sync::Arc;

    use tool_runtime::{CancellationToken, Executor, Registry, open_calls::ProgramKey};

    use super::*;
    use crate::{MemoryTransport, Worker};

    #[tokio::test(start_paused = true)]
    async fn workers_that_answer_are_listed_and_those_that_leave_are_not() {
        let (transport, key) = (MemoryTransport::new(), ProgramKey::new([7; 32]).pool_key("trip"));
        let channel = Channel::new(key.clone(), Arc::new(transport.clone())).unwrap();
        let wait = Duration::from_secs(2);
        assert_eq!(find_workers(&channel, wait).await.unwrap(), []);
        let stops = [(); 2].map(|()| CancellationToken::new());
        let serving = stops.clone().map(|stop| {
            let tools = Registry::builder().build().unwrap();
            tokio::spawn(Worker::new(Executor::new(tools), key.clone()).serve(transport.clone(), stop))
        });
        // Of another pool, and with another key: they are not of this pool.
        for other in [ProgramKey::new([7; 32]).pool_key("mail"), ProgramKey::new([8; 32]).pool_key("trip")] {
            let tools = Registry::builder().build().unwrap();
            let worker = Worker::new(Executor::new(tools), other);
            tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()));
        }
        let both = find_workers(&channel, wait).await.unwrap();
        assert_eq!(both.iter().map(|it| it.tools).collect::<Vec<_>>(), [0, 0]);
        assert_eq!(both[0].registry, both[1].registry);
        let listing = find_workers(&channel, wait);
        let leaving = async {
            // After the first answers.
            tokio::time::sleep(wait / 2).await;
            stops[0].cancel();
        };
        let (left, ()) = tokio::join!(listing, leaving);
        assert_eq!(left.unwrap().len(), 1);
        stops[1].cancel();
        for it in serving {
            it.await.unwrap().unwrap();
        }
    }
}
