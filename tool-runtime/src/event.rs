//! What happens to calls, told while it happens.

mod receiver;
mod wire;

use std::{fmt, sync::Arc, time::SystemTime};

use serde::Serialize;
use tokio::sync::broadcast;
use tool_core::{CallAddress, CallId, LogLine, Progress, ToolOutput};

pub(crate) use self::receiver::Receiver;
use crate::{ToolCall, ToolResult, millis, policy::ApprovalRequest};

/// One thing that happened to a call: what all events have in common, and the [kind](Self::kind).
///
/// A call that starts ends: after [`Started`](EventKind::Started) there is exactly one
/// [`Finished`](EventKind::Finished), and nothing after that, except that the `Finished` of a call that is
/// [pending](crate::call::Pending) with nothing to tell comes with its answer, and that
/// [intermediate results](crate::Executor::update) of a long-running call may follow. A call that is left to the caller has one event,
/// [`External`](EventKind::External); one that a hook does not let in has none. Values of parameters with `#[arg(secret)]`
/// are in none of them.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Executor, RunContext, ToolCall, event::EventKind, prelude::*};
///
/// /// Waves.
/// #[tool(title = "Wave a hand")]
/// fn wave() -> &'static str {
///     "o/"
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let executor = Executor::new(Registry::builder().tool::<wave>().build()?);
/// let mut listener = executor.subscribe();
/// let run = RunContext::new().with_agent("greeter");
/// executor.batch(vec![ToolCall::new("wave", "{}")]).with_run(run).run().await;
///
/// while let Some(event) = listener.try_next() {
///     let event = event?;
///     assert_eq!((event.author.as_deref(), event.title()), (Some("greeter"), "Wave a hand"));
///     if let EventKind::Finished { result } = &event.kind {
///         assert_eq!(result.text(), "o/");
///     }
/// }
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolEvent {
    /// The time of the event; as JSON in milliseconds since the Unix epoch.
    #[serde(with = "millis")]
    pub time: SystemTime,
    /// The id of the run in which it happened; `None` for a call without a run. A call that is resumed may have
    /// [arrived](CallAddress::run) in another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<CallId>,
    /// The agent of the run, where it has one. `None` for the answer to a call whose batch is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Arc<str>>,
    /// The address of the call, which tells calls of the same id apart.
    pub address: CallAddress,
    /// The name of the tool, as the model wrote it.
    pub name: Arc<str>,
    /// The display name of the tool: its title, or else its name.
    pub title: Arc<str>,
    /// The kind of the event, with what only this kind has.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kind of a [`ToolEvent`].
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum EventKind {
    /// The call is looked at.
    Started {
        /// The call; values of secret parameters are replaced.
        call: Arc<ToolCall>,
    },
    /// The tool gave a partial result, for those who watch and never for the model.
    Updated {
        /// The number of the attempt that it belongs to, from 1.
        attempt: u32,
        /// The partial result.
        update: ToolOutput,
    },
    /// The tool reported how far it is.
    Progress {
        /// How far.
        progress: Progress,
    },
    /// The tool wrote a line to its log.
    Log {
        /// The line.
        line: Arc<LogLine>,
    },
    /// Something happened to a call of a run [below](crate::ToolContext::child_run) this call. An event of a run two levels
    /// below is a `Child` in a `Child`. Who listens to the executor of both runs hears of it in this form alone.
    Child {
        /// The event of the run below, with that run's id and agent.
        event: Arc<ToolEvent>,
    },
    /// The call is left to the caller, who answers it by [`answer`](crate::Executor::submit_result).
    External {
        /// The call; values of secret parameters are replaced.
        call: Arc<ToolCall>,
    },
    /// A person is asked, or is to be asked. Where nobody answers at once, the call is open, for
    /// [`resume`](crate::Executor::resume), from its [`Finished`](Self::Finished) on.
    ApprovalRequested {
        /// The question.
        request: Arc<ApprovalRequest>,
    },
    /// The call was answered.
    Finished {
        /// The answer.
        result: Arc<ToolResult>,
    },
}

impl ToolEvent {
    /// Returns the id of the call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        &self.address.call_id
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the display name of the tool: its title, or else its name as the model wrote it.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }
}

/// Hears of all that an executor does, made by [`Executor::subscribe`](crate::Executor::subscribe).
///
/// A listener holds up nobody: it has a buffer, and one that falls behind by more than that is told
/// how many events it missed.
#[derive(Debug)]
pub struct EventListener {
    receiver: Receiver<ToolEvent>,
}

/// A listener was too slow for its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagged {
    /// How many events it missed, the oldest of those it had not heard.
    pub missed: u64,
}

impl fmt::Display for Lagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} events were missed: the listener is slower than its buffer is long", self.missed)
    }
}

impl std::error::Error for Lagged {}

impl EventListener {
    pub(crate) fn new(receiver: broadcast::Receiver<ToolEvent>) -> Self {
        Self { receiver: Receiver::new(receiver) }
    }

    /// The next event; `None` once the executor is gone. May be dropped and asked again: nothing is lost.
    ///
    /// # Errors
    ///
    /// If events were missed; those that follow are there.
    pub async fn next(&mut self) -> Option<Result<ToolEvent, Lagged>> {
        self.receiver.next().await
    }

    /// The next event that has happened already; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If events were missed; those that follow are there.
    pub fn try_next(&mut self) -> Option<Result<ToolEvent, Lagged>> {
        self.receiver.try_next()
    }
}
