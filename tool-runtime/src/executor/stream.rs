//! A batch as a stream.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::mpsc;
use tool_core::{BoxFuture, Stream};

use crate::{CallOutcome, event::ToolEvent};

/// What a [`CallStream`] gives.
#[derive(Debug, Clone)]
pub enum StreamItem {
    /// Something happened to a call.
    Event(ToolEvent),
    /// All calls have their outcome; nothing follows.
    Outcomes(Vec<CallOutcome>),
}

/// A batch that runs as it is read: all events, and then the outcomes.
///
/// A reader that is slow holds up the calls, which wait with their updates until there is room. Dropping
/// the stream cancels the calls. Kept beside the room are the ends of calls below a call whose batches were dropped: at
/// most one for each start of such a call, which waited for room itself.
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
#[must_use = "the calls run as the stream is read"]
pub struct CallStream {
    events: mpsc::Receiver<ToolEvent>,
    state: State,
}

enum State {
    BoxFuture(BoxFuture<'static, Vec<CallOutcome>>),
    Ended(Vec<CallOutcome>),
    Read,
}

impl CallStream {
    pub(super) fn new(
        events: mpsc::Receiver<ToolEvent>,
        running: BoxFuture<'static, Vec<CallOutcome>>,
    ) -> Self {
        Self { events, state: State::BoxFuture(running) }
    }

    /// The next item; `None` after the outcomes.
    pub async fn next(&mut self) -> Option<StreamItem> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for CallStream {
    type Item = StreamItem;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        let this = &mut *self;
        loop {
            // What has happened is told before more is made to happen.
            if let Poll::Ready(Some(event)) = this.events.poll_recv(cx) {
                return Poll::Ready(Some(StreamItem::Event(event)));
            }
            match &mut this.state {
                State::BoxFuture(running) => match running.as_mut().poll(cx) {
                    // Its events may have come with its end.
                    Poll::Ready(outcomes) => this.state = State::Ended(outcomes),
                    // What it told wakes the reader.
                    Poll::Pending => return Poll::Pending,
                },
                State::Ended(outcomes) => {
                    // The poll above also finds nothing where this task has had its turn for now.
                    if let Ok(event) = this.events.try_recv() {
                        return Poll::Ready(Some(StreamItem::Event(event)));
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
