//! The messages that a worker reads until it is stopped.

use std::sync::Arc;

use futures_util::StreamExt as _;
use tokio::{task::JoinSet, time::MissedTickBehavior};
use tool_runtime::CancellationToken;

use super::{Server, reap_tasks};
use crate::{Deliveries, FleetError};

/// The messages that a worker reads.
pub(super) struct Subscriptions {
    /// Of calls, and of operators.
    pub(super) controls: Deliveries,
    pub(super) requests: Deliveries,
    pub(super) calls: Deliveries,
}

impl Server {
    pub(super) async fn subscribe(&self) -> Result<Subscriptions, FleetError> {
        let channel = &self.channel;
        let controls = channel.listen(&channel.own_subject(">"), None).await?;
        let inquiries = channel.listen(&channel.subject("status"), None).await?;
        let controls = futures_util::stream::select(controls, inquiries).boxed();
        let requests = self.listen_to_requests().await?;
        let calls = channel.listen(&channel.calls_subject(self.index.registry()), Some("workers")).await?;
        // One that has ended is read once more.
        Ok(Subscriptions { controls, requests, calls: calls.fuse().boxed() })
    }

    /// Takes calls, and answers requests, until `stop` is cancelled.
    pub(super) async fn serve_messages(
        self: &Arc<Self>,
        Subscriptions { controls, requests, calls }: &mut Subscriptions,
        tasks: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) -> Result<(), FleetError> {
        let mut beat = tokio::time::interval(self.worker.heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                _ = beat.tick() => {
                    self.calls.forget_expired();
                    reap_tasks(tasks);
                    self.send_announcement().await;
                }
                control = controls.next() => self.handle_control(control.ok_or_else(connection_closed)?).await,
                request = requests.next() => self.answer_request(request.ok_or_else(connection_closed)?, tasks).await,
                call = calls.next() => self.take_call(call.ok_or_else(connection_closed)?, tasks).await,
            }
        }
    }

    /// Questions about this worker, and about definitions of its registry.
    async fn listen_to_requests(&self) -> Result<Deliveries, FleetError> {
        let channel = &self.channel;
        let discoveries = channel.listen(&channel.subject("discover"), None).await?;
        let definitions = channel.definitions_subject(self.index.registry());
        let definitions = channel.listen(&definitions, Some("workers")).await?;
        Ok(futures_util::stream::select(discoveries, definitions).boxed())
    }
}

fn connection_closed() -> FleetError {
    FleetError::Transport("the connection is closed".to_owned())
}
