//! The first poll of a call. Where it is short, the call is polled in the task that received it: one that ends with it, as most do, takes no task of its own
//! and no wake of another thread. Others run beside each other.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures_util::{FutureExt, StreamExt};
use tokio::task::JoinSet;
use tool_runtime::{definition::ContentHash, guard};

use super::{Server, subscriptions::connection_closed};
use crate::{Deliveries, Delivery, FleetError};

/// A first poll up to this time delays the other messages of a worker little.
const MAX_SHORT_POLL: Duration = Duration::from_micros(500);

/// The number of short first polls in succession after which the next one of a tool is expected to be short, too.
const SHORT_POLLS: u32 = 8;

/// The number of calls of a tool in succession whose first polls were short.
#[derive(Default)]
pub(super) struct FirstPolls(AtomicU32);

impl FirstPolls {
    /// Returns `true` if the first poll of the next call is likely to be short.
    pub(super) fn are_short(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= SHORT_POLLS
    }

    fn note_poll(&self, time: Duration) {
        let short = if time <= MAX_SHORT_POLL { self.0.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        self.0.store(short, Ordering::Relaxed);
    }
}

/// A call whose first poll is measured.
pub(super) struct MeasuredCall<F> {
    call: Pin<Box<F>>,
    server: Arc<Server>,
    definition: ContentHash,
    is_polled: bool,
}

impl<F: Future<Output = ()>> MeasuredCall<F> {
    pub(super) fn new(call: F, server: Arc<Server>, definition: ContentHash) -> Self {
        Self { call: Box::pin(call), server, definition, is_polled: false }
    }

    /// Polls the call once; returns it if it has not ended.
    pub(super) async fn poll_once(mut self) -> Option<Self> {
        match poll_fn(|cx| Poll::Ready(guard::catch(|| Pin::new(&mut self).poll(cx)))).await {
            Ok(Poll::Pending) => Some(self),
            Ok(Poll::Ready(())) => None,
            Err(panic) => {
                tracing::error!(panic = panic.message(), "a call of a worker panicked outside of its body");
                None
            }
        }
    }
}

impl<F: Future<Output = ()>> Future for MeasuredCall<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.is_polled, true) {
            return self.call.as_mut().poll(cx);
        }
        let begun = Instant::now();
        let polled = self.call.as_mut().poll(cx);
        if let Some(polls) = self.server.index.first_polls(self.definition) {
            polls.note_poll(begun.elapsed());
        }
        polled
    }
}

impl Server {
    /// Takes a call, and those that have arrived since.
    pub(super) async fn take_calls(
        self: &Arc<Self>,
        first: Delivery,
        calls: &mut Deliveries,
        tasks: &mut JoinSet<()>,
    ) -> Result<(), FleetError> {
        let mut delivery = first;
        loop {
            match calls.next().now_or_never() {
                None => {
                    self.take_call(delivery, true, tasks).await;
                    return Ok(());
                }
                Some(next) => {
                    self.take_call(
                        std::mem::replace(&mut delivery, next.ok_or_else(connection_closed)?),
                        false,
                        tasks,
                    )
                    .await
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_first_poll_is_followed_by_calls_in_tasks_of_their_own() {
        let polls = FirstPolls::default();
        for _ in 0..SHORT_POLLS {
            assert!(!polls.are_short());
            polls.note_poll(MAX_SHORT_POLL);
        }
        assert!(polls.are_short());
        polls.note_poll(2 * MAX_SHORT_POLL);
        assert!(!polls.are_short());
    }
}
