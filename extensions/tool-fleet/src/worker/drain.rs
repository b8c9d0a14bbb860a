//! The end of a worker: after a stop, or because an operator drains it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::{FutureExt as _, StreamExt as _};
use tokio::{task::JoinSet, time::Instant};
use tool_runtime::CancellationToken;

use super::{FLUSH_TIMEOUT, Server, WorkerState};
use crate::{
    Deliveries,
    message::{Message, Report, WorkerStatus},
};

/// The limit of operators that receive the last word of a worker.
const MAX_OPERATORS: usize = 16;

/// The way of a worker to its end.
pub(super) struct DrainState {
    /// Cancelled once the worker is to take no more calls.
    pub(super) stop: CancellationToken,
    /// The time at which it ends at the latest.
    deadline: OnceLock<Instant>,
    /// The subjects of the operators that drain it.
    operators: Mutex<Vec<String>>,
}

impl DrainState {
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self { stop, deadline: OnceLock::new(), operators: Mutex::default() }
    }

    fn add_operator(&self, reply: &str) {
        let mut operators = self.operators.lock().unwrap_or_else(PoisonError::into_inner);
        if operators.len() < MAX_OPERATORS && !operators.iter().any(|known| known == reply) {
            operators.push(reply.to_owned());
        }
    }
}

impl Server {
    /// Answers an operator, and takes the worker out if it says so. A repeated message changes nothing: it names this process alone.
    pub(super) async fn answer_operator(&self, message: &Message, reply: Option<String>) {
        // Answers stay within the pool.
        let Some(reply) = reply.filter(|reply| reply.starts_with(&self.channel.subject(""))) else { return };
        match message {
            Message::ReadStatus => {}
            Message::Drain => {
                self.drain.add_operator(&reply);
                self.drain.stop.cancel();
            }
            _ => return,
        }
        self.send_or_warn(&reply, Message::Status(self.status())).await;
    }

    fn status(&self) -> WorkerStatus {
        let drain_left = self.drain.stop.is_cancelled().then(|| {
            let left = |end: &Instant| end.saturating_duration_since(Instant::now());
            let left = self.drain.deadline.get().map_or(self.worker.drain, left);
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
        });
        WorkerStatus {
            registry: self.index.registry(),
            tools: self.index.len(),
            calls: self.calls.running_calls(),
            slots: self.worker.slots,
            drain_left,
        }
    }

    /// Answers what has arrived: requests, by `tasks` if it takes time, and calls, which their callers give to other workers.
    pub(super) async fn answer_received(
        self: &Arc<Self>,
        mut requests: Deliveries,
        mut calls: Deliveries,
        tasks: &mut JoinSet<()>,
    ) {
        let answering = async {
            while let Some(Some(delivery)) = requests.next().now_or_never() {
                self.answer_request(delivery, tasks).await;
            }
        };
        let returning = async {
            while let Some(Some(delivery)) = calls.next().now_or_never() {
                if let Some((received, _, reply)) = self.open_call(&delivery) {
                    self.refuse_call(received.call().clone(), &reply, Report::Busy).await;
                }
            }
        };
        let answered = futures_util::future::join(answering, returning);
        if tokio::time::timeout(FLUSH_TIMEOUT, answered).await.is_err() {
            tracing::warn!(pool = self.channel.pool(), "requests and calls were not answered in time");
        }
    }

    /// Waits for the calls that run, and returns the number of those that did not end in time.
    pub(super) async fn drain_calls(&self, mut tasks: JoinSet<()>, mut controls: Deliveries) -> usize {
        let pool = self.channel.pool();
        self.worker.state.set_state(WorkerState::Draining);
        // Beyond the range of times, it has no end.
        if let Some(deadline) = Instant::now().checked_add(self.worker.drain) {
            let _ = self.drain.deadline.set(deadline);
        }
        let announcements = self.channel.subject("announcements");
        let leaving = self.send_or_warn(&announcements, Message::Leave);
        if tokio::time::timeout(FLUSH_TIMEOUT, leaving).await.is_err() {
            tracing::warn!(pool, "callers were not told in time that a worker takes no more calls");
        }
        let drained = async {
            loop {
                tokio::select! {
                    joined = tasks.join_next() => if joined.is_none() { break },
                    Some(control) = controls.next() => self.handle_control(control).await,
                }
            }
        };
        let dropped = match tokio::time::timeout(self.worker.drain, drained).await {
            Ok(()) => 0,
            Err(_) => self.calls.running_calls(),
        };
        if dropped > 0 {
            tracing::warn!(pool, calls = dropped, "calls did not end in time, and are dropped");
        }
        if tokio::time::timeout(FLUSH_TIMEOUT, tasks.shutdown()).await.is_err() {
            tracing::warn!(pool, "the tasks of a worker did not end in time");
        }
        if tokio::time::timeout(FLUSH_TIMEOUT, self.report_end(dropped)).await.is_err() {
            tracing::warn!(pool, "operators were not told in time that a worker has left");
        }
        dropped
    }

    /// Says to the operators that drain the worker that it has left.
    async fn report_end(&self, dropped: usize) {
        let operators =
            std::mem::take(&mut *self.drain.operators.lock().unwrap_or_else(PoisonError::into_inner));
        for reply in operators {
            self.send_or_warn(&reply, Message::Left { dropped }).await;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::time::Duration;

    use tool_runtime::{Executor, Registry, open_calls::ProgramKey};

    use super::*;
    use crate::{MemoryTransport, Worker, channel::Channel};

    #[tokio::test(start_paused = true)]
    async fn the_time_to_drain_runs_from_the_stop_on() {
        let (key, drain) = (ProgramKey::new([7; 32]).pool_key("trip"), Duration::from_secs(5));
        let tools = Registry::builder().build().unwrap();
        let worker = Worker::new(Executor::new(tools), key.clone()).drain(drain).slots(3);
        let channel = Channel::new(key, Arc::new(MemoryTransport::new())).unwrap();
        let server = Server::new(worker, channel, &CancellationToken::new());
        let left = || server.status().drain_left;
        assert_eq!(left(), None);
        server.drain.stop.cancel();
        assert_eq!(left(), Some(5_000));
        server.drain.deadline.set(Instant::now() + drain).unwrap();
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(left(), Some(3_000));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(left(), Some(0));
        let WorkerStatus { registry, tools, calls, slots, .. } = server.status();
        assert_eq!((registry, tools, calls, slots), (server.index.registry(), 0, 0, 3));
    }

    #[test]
    fn a_bounded_number_of_operators_receives_the_last_word_once() {
        let drain = DrainState::new(CancellationToken::new());
        let replies: Vec<_> =
            (0..=MAX_OPERATORS).map(|number| format!("tools.trip.process.{number}")).collect();
        for reply in replies.iter().chain(&replies) {
            drain.add_operator(reply);
        }
        let operators = drain.operators.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(*operators, replies[..MAX_OPERATORS]);
    }
}
