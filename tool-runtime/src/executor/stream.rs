//! A batch as a stream.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::mpsc;
use tool_core::{BoxFuture, Stream};

use crate::{CallOutcome, event::ToolEvent};

/// An item of a [`CallStream`].
#[derive(Debug, Clone)]
pub enum StreamItem {
    /// An event of a call.
    Event(ToolEvent),
    /// The outcomes of all calls; the last item.
    Outcomes(Vec<CallOutcome>),
}

/// A batch as a stream, which yields all events and then the outcomes. The batch progresses only while the stream is
/// polled.
///
/// The stream applies backpressure: a slow reader delays the calls, which wait with their updates until there is
/// capacity. Dropping the stream cancels the calls. Only the ends of calls in dropped child runs are queued beyond the
/// capacity: at most one for each start of such a call, which itself waited for capacity.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Executor, ToolCall, executor::StreamItem, prelude::*};
///
/// /// Waves.
/// #[tool]
/// fn wave() -> &'static str {
///     "o/"
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let executor = Executor::new(Registry::builder().tool::<wave>().build()?);
/// let mut stream = executor.stream(vec![ToolCall::new("wave", "{}")]);
/// while let Some(item) = stream.next().await {
///     match item {
///         StreamItem::Event(event) => println!("{}: {event:?}", event.name()),
///         StreamItem::Outcomes(outcomes) => assert_eq!(outcomes[0].result().unwrap().text(), "o/"),
///     }
/// }
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[must_use = "the calls run only while the stream is polled"]
pub struct CallStream {
    events: mpsc::Receiver<Box<ToolEvent>>,
    state: State,
}

enum State {
    Running(BoxFuture<'static, Vec<CallOutcome>>),
    CallEnd(Vec<CallOutcome>),
    Read,
}

impl CallStream {
    pub(super) fn new(
        events: mpsc::Receiver<Box<ToolEvent>>,
        running: BoxFuture<'static, Vec<CallOutcome>>,
    ) -> Self {
        Self { events, state: State::Running(running) }
    }

    /// Waits for the next item; `None` after the outcomes.
    pub async fn next(&mut self) -> Option<StreamItem> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for CallStream {
    type Item = StreamItem;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        let this = &mut *self;
        loop {
            // Events that have occurred are yielded before the batch is polled.
            if let Poll::Ready(Some(event)) = this.events.poll_recv(cx) {
                return Poll::Ready(Some(StreamItem::Event(*event)));
            }
            match &mut this.state {
                State::Running(running) => match running.as_mut().poll(cx) {
                    // The last events may have been sent with its end.
                    Poll::Ready(outcomes) => this.state = State::CallEnd(outcomes),
                    // The event channel wakes the reader.
                    Poll::Pending => return Poll::Pending,
                },
                State::CallEnd(outcomes) => {
                    // The poll above also returns nothing if the cooperative budget of this task is exhausted.
                    if let Ok(event) = this.events.try_recv() {
                        return Poll::Ready(Some(StreamItem::Event(*event)));
                    }
                    let outcomes = std::mem::take(outcomes);
                    this.state = State::Read;
                    return Poll::Ready(Some(StreamItem::Outcomes(outcomes)));
                }
                State::Read => return Poll::Ready(None),
            }
        }
    }
}

impl fmt::Debug for CallStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallStream").finish_non_exhaustive()
    }
}
