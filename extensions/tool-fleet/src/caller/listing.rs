//! Lists the tools of a pool: the registries of its workers, and definitions by their hashes, in pages.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tokio::time::{Instant, timeout_at};
use tool_runtime::{
    ErrorKind, ToolDefinition, ToolError,
    definition::{ContentHash, ToolSteps},
};

use super::connection::{Connection, Reply};
use crate::{channel::Received, message::Message};

/// The limit of tools in a registry, for a worker that does not say the truth.
const MAX_TOOLS: usize = 100_000;

/// The time in which the workers that answer beside the first one are counted.
const OTHER_WORKERS_WAIT: std::time::Duration = std::time::Duration::from_millis(50);

fn unavailable_error(problem: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, problem.into()).retryable(true)
}

impl Connection {
    /// Waits for workers, if none is known.
    pub(super) async fn find_workers(&self) -> Result<(), ToolError> {
        let deadline = Instant::now() + self.settings.listing;
        while self.workers.registries().is_empty() {
            let found = self.workers.found.notified();
            tokio::pin!(found);
            found.as_mut().enable();
            let reply = self.channel.subject("announcements");
            let subject = self.channel.subject("discover");
            let sent = self.channel.send_message(&subject, Some(&reply), Message::Discover);
            sent.await.map_err(|error| unavailable_error(error.to_string()))?;
            if timeout_at(deadline, found).await.is_err() {
                let pool = self.channel.pool();
                return Err(unavailable_error(format!(
                    "no worker of the pool `{pool}` answers; start one, or check that both sides have the same broker, the same name of the pool, and a key of the same program key"
                )));
            }
            tokio::time::sleep(OTHER_WORKERS_WAIT).await;
        }
        Ok(())
    }

    /// Asks one of the workers of a registry.
    async fn ask_worker(
        self: &Arc<Self>,
        registry: ContentHash,
        request: Message,
    ) -> Result<Received, ToolError> {
        let mut replies = self.register_replies();
        let deadline = Instant::now() + self.settings.listing;
        let subject = self.channel.definitions_subject(registry);
        let sent = self.channel.send_message(&subject, Some(&replies.subject()), request).await;
        sent.map_err(|error| unavailable_error(error.to_string()))?;
        match timeout_at(deadline, replies.next()).await {
            Ok(Reply::Received(received)) => match received.message {
                Message::Unanswerable { problem } => Err(unavailable_error(problem)),
                _ => Ok(*received),
            },
            // Not sealed: it has no effect on what is known of the workers.
            Ok(Reply::NoReceiver) => Err(unavailable_error("the workers have left")),
            Ok(Reply::Closed | Reply::Overflow) => {
                Err(unavailable_error("the connection to the workers is closed"))
            }
            Err(_) => Err(unavailable_error("the workers do not answer in time")),
        }
    }

    /// Reads the hashes of the definitions of a registry.
    pub(super) async fn read_index(
        self: &Arc<Self>,
        registry: ContentHash,
    ) -> Result<Vec<ContentHash>, ToolError> {
        let mut all = Vec::new();
        loop {
            let page = self.ask_worker(registry, Message::ReadIndex { offset: all.len() }).await?;
            let Message::Index { total, hashes } = page.message else {
                return Err(unavailable_error("a worker answered with another message than a list of tools"));
            };
            let is_last = hashes.is_empty();
            all.extend(hashes);
            if all.len() > MAX_TOOLS {
                return Err(unavailable_error(format!("a worker lists more than {MAX_TOOLS} tools")));
            }
            if all.len() >= total || is_last {
                break;
            }
        }
        // What was announced is what was listed, also across pages.
        if ContentHash::combine(all.iter().copied()) != registry {
            return Err(unavailable_error("the list of tools is not the one that the worker announced"));
        }
        Ok(all)
    }

    /// Reads the definitions of `missing`.
    pub(super) async fn read_definitions(
        self: &Arc<Self>,
        registry: ContentHash,
        missing: Vec<ContentHash>,
    ) -> Result<HashMap<ContentHash, (ToolDefinition, ToolSteps)>, ToolError> {
        // As many as surely fit into a request.
        let per_request = (self.channel.max_bytes() / 256).max(1);
        let mut read = HashMap::new();
        let mut left: HashSet<_> = missing.into_iter().collect();
        while !left.is_empty() {
            let hashes = left.iter().take(per_request).copied().collect();
            let page = self.ask_worker(registry, Message::ReadDefinitions { hashes }).await?;
            let definitions = page.text.definitions_at("/message/definitions/definitions")?;
            let before = left.len();
            // The hash is computed from the text that was read: a definition under the name of another one stays unread.
            // One that was not asked for is left out.
            let definitions = definitions.into_iter().filter(|(hash, ..)| left.remove(hash));
            read.extend(definitions.map(|(hash, definition, steps)| (hash, (definition, steps))));
            if left.len() == before {
                return Err(unavailable_error("a worker does not return the definitions that it lists"));
            }
        }
        Ok(read)
    }
}
