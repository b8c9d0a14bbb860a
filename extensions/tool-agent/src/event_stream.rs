//! A stream of events that a future emits while the stream is polled.
//!
//! Nothing is spawned: the future progresses only while its stream is polled, and is dropped with it. That cancels
//! whatever it was waiting for.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::Stream;
use tokio::sync::mpsc;
use tool_runtime::BoxFuture;

/// The number of events that a future may emit before it waits for the reader.
const BUFFER: usize = 16;

/// Emits events to the reader of an [`EventStream`].
pub(crate) struct Emitter<T>(mpsc::Sender<Box<T>>);

impl<T> Clone for Emitter<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Emitter<T> {
    /// Emits an event; waits while the reader is behind.
    pub(crate) async fn emit(&self, event: T) {
        // The reader owns the future that emits: it cannot be gone.
        drop(self.0.send(Box::new(event)).await);
    }

    /// Waits until the reader has received all events and polls for the next one.
    pub(crate) async fn wait_until_received(&self) {
        // The future that emits is polled only when no event is left.
        while self.0.capacity() < self.0.max_capacity() {
            tokio::task::yield_now().await;
        }
    }
}

/// The events of a future.
pub(crate) struct EventStream<T> {
    /// Boxed: a channel reserves places.
    events: mpsc::Receiver<Box<T>>,
    running: Option<BoxFuture<'static, ()>>,
}

impl<T> EventStream<T> {
    pub(crate) fn new<F>(run: impl FnOnce(Emitter<T>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(BUFFER);
        Self { events, running: Some(Box::pin(run(Emitter(sender)))) }
    }

    /// Polls for the next event in its box, which readers keep that pass it on.
    pub(crate) fn poll_next_boxed(&mut self, cx: &mut Context<'_>) -> Poll<Option<Box<T>>> {
        loop {
            if let Poll::Ready(Some(event)) = self.events.poll_recv(cx) {
                return Poll::Ready(Some(event));
            }
            // The poll above also returns nothing if the cooperative budget of this task is exhausted.
            let Some(running) = &mut self.running else {
                return Poll::Ready(self.events.try_recv().ok());
            };
            match running.as_mut().poll(cx) {
                Poll::Ready(()) => self.running = None,
                Poll::Pending => {
                    return self.events.try_recv().map_or(Poll::Pending, |event| Poll::Ready(Some(event)));
                }
            }
        }
    }
}

impl<T> Stream for EventStream<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_next_boxed(cx).map(|event| event.map(|event| *event))
    }
}
