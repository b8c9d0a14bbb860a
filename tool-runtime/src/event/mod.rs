//! Events of tool calls, for user interfaces, logs and audits.
//!
//! - [`ToolEvent`] is one event of a call: its time, run, agent, call address and tool name, and its [`EventKind`]:
//!   started, partial result, progress, log line, approval requested, finished, and others.
//! - [`EventListener`] receives the events of an executor; [`Executor::subscribe`](crate::Executor::subscribe) creates
//!   it.
//! - [`Lagged`] reports events that a listener missed because its buffer was full.
//!
//! A [`CallStream`](crate::executor::CallStream) yields the events of a single batch. Hooks change calls; listeners
//! only observe them and never delay them.

mod receiver;
mod wire;

use std::{fmt, sync::Arc, time::SystemTime};

use serde::Serialize;
use tokio::sync::broadcast;
use tool_core::{CallAddress, CallId, LogLine, Progress, ToolOutput};

pub(crate) use self::receiver::Receiver;
use crate::{ToolCall, ToolResult, millis, policy::ApprovalRequest};

/// An event of a call: the fields that all events have, and its [kind](Self::kind).
///
/// Each started call finishes: after [`Started`](EventKind::Started) there is exactly one
/// [`Finished`](EventKind::Finished), and no event follows it, with two exceptions: the `Finished` of a
/// [pending](crate::call::Pending) call without an interim result is sent with its answer, and [intermediate
/// results](crate::Executor::update) of a long-running call may follow. A call that is left to the caller has one
/// event, [`External`](EventKind::External); a call that a hook does not admit has none. Values of parameters with
/// `#[arg(secret)]` are never included.
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
    /// The time of the event; in JSON, milliseconds since the Unix epoch.
    #[serde(with = "millis")]
    pub time: SystemTime,
    /// The id of the run in which the event occurred; `None` for a call without a run. For a resumed call, it may
    /// differ from the run in which the call [arrived](CallAddress::run).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<CallId>,
    /// The agent of the run, if it has one; `None` for the answer to a call whose batch has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Arc<str>>,
    /// The address of the call, which distinguishes calls of the same id.
    pub address: CallAddress,
    /// The name of the tool, as the model wrote it.
    pub name: Arc<str>,
    /// The display name of the tool: its title, or its name if it has no title.
    pub title: Arc<str>,
    /// The kind of the event, with the data of this kind.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kind of a [`ToolEvent`].
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum EventKind {
    /// The executor began to process the call. Its body has not run yet: the arguments are validated, rules, hooks and
    /// permissions decide, and a person may be asked afterwards ([`ApprovalRequested`](Self::ApprovalRequested)). A call that
    /// is denied has this event, too.
    Started {
        /// The call; values of secret parameters are replaced.
        call: Arc<ToolCall>,
    },
    /// The tool sent a partial result, for user interfaces and never for the model.
    Updated {
        /// The number of its attempt, from 1.
        attempt: u32,
        /// The partial result.
        update: ToolOutput,
    },
    /// The tool reported progress.
    Progress {
        /// The progress.
        progress: Progress,
    },
    /// The tool wrote a line to its log.
    Log {
        /// The line.
        line: Arc<LogLine>,
    },
    /// An event of a call in a run [below](crate::ToolContext::child_run) this call. An event of a run two levels below
    /// is a `Child` in a `Child`. A listener of an executor that executes both runs receives the event in this form
    /// only.
    Child {
        /// The event of the run below, with that run's id and agent.
        event: Arc<ToolEvent>,
    },
    /// The call is left to the caller, who answers it with [`submit_result`](crate::Executor::submit_result).
    External {
        /// The call; values of secret parameters are replaced.
        call: Arc<ToolCall>,
    },
    /// A person's approval is requested. If it is not answered at once, the call is open for
    /// [`resume`](crate::Executor::resume) after its [`Finished`](Self::Finished).
    ApprovalRequested {
        /// The request.
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

    /// Returns the display name of the tool: its title, or the name that the model wrote if it has no title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }
}

/// Receives all events of an executor. Created by [`Executor::subscribe`](crate::Executor::subscribe).
///
/// A listener never delays calls: its buffer is bounded, and a listener that falls behind receives [`Lagged`] with the
/// number of missed events.
#[derive(Debug)]
pub struct EventListener {
    receiver: Receiver<ToolEvent>,
}

/// Events were dropped because the listener was slower than its buffer allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagged {
    /// The number of missed events: the oldest ones that were not yet received.
    pub missed: u64,
}

impl fmt::Display for Lagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} events were missed: the listener was too slow for its buffer", self.missed)
    }
}

impl std::error::Error for Lagged {}

impl EventListener {
    pub(crate) fn new(receiver: broadcast::Receiver<ToolEvent>) -> Self {
        Self { receiver: Receiver::new(receiver) }
    }

    /// Waits for the next event; `None` once the executor is dropped. Cancel safe: no event is lost if the future is
    /// dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if events were missed; the following events are still received.
    pub async fn next(&mut self) -> Option<Result<ToolEvent, Lagged>> {
        self.receiver.next().await
    }

    /// Returns the next event that has already occurred; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if events were missed; the following events are still received.
    pub fn try_next(&mut self) -> Option<Result<ToolEvent, Lagged>> {
        self.receiver.try_next()
    }
}
