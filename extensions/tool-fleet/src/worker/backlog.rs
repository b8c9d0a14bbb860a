//! The backlog of the queue of a worker, as metrics show it.

use std::sync::Arc;

use tokio::time::MissedTickBehavior;

use super::Server;
use crate::CallQueue;

impl Server {
    /// Reads the backlog regularly, and shows it until the worker takes no more calls.
    pub(super) async fn show_backlog(self: Arc<Self>, queue: Arc<dyn CallQueue>) {
        let shown = self.channel.metrics().show_backlog();
        let interval = self.worker.backlog_interval;
        let mut read = tokio::time::interval(interval);
        read.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let reading = async {
            loop {
                read.tick().await;
                // An old value would be a wrong one.
                let backlog = match tokio::time::timeout(interval, queue.read_backlog()).await {
                    Ok(Ok(backlog)) => Some(backlog),
                    Ok(Err(error)) => {
                        tracing::debug!(pool = self.channel.pool(), %error, "the backlog of a queue was not read");
                        None
                    }
                    Err(_) => None,
                };
                shown.show(backlog);
            }
        };
        tokio::select! {
            () = self.drain.stop.cancelled() => {}
            () = reading => {}
        }
    }
}
