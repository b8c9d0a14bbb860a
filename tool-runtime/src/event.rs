//! What happens to calls, told while it happens.

use std::{fmt, sync::Arc};

use serde::Serialize;
use tokio::sync::broadcast::{self, error::RecvError};
use tool_core::{CallId, Progress, ToolOutput};

use crate::{ToolCall, ToolResult, policy::ApprovalRequest};

/// One thing that happened to a call.
///
/// A call that starts ends: after `Started` there is exactly one `Finished`, and nothing after that,
/// except that the `Finished` of a call that is [pending](crate::Pending) with nothing to tell comes
/// with its answer. Values of parameters with `#[arg(secret)]` are in none of them.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ToolEvent {
    /// The call is looked at.
    Started {
        /// The call; values of secret parameters are replaced.
        call: Arc<ToolCall>,
        /// The display name of the tool: its title, or else its name.
        title: Arc<str>,
    },
    /// The tool gave a partial result, for those who watch and never for the model.
    Updated {
        /// The id of the call.
        id: CallId,
        /// The name of the tool.
        name: Arc<str>,
        /// The display name of the tool.
        title: Arc<str>,
        /// The number of the attempt that it belongs to, from 1.
        attempt: u32,
        /// The partial result.
        update: ToolOutput,
    },
    /// The tool told how far it is.
    Progress {
        /// The id of the call.
        id: CallId,
        /// The name of the tool.
        name: Arc<str>,
        /// The display name of the tool.
        title: Arc<str>,
        /// How far.
        progress: Progress,
    },
    /// A person is asked, or is to be asked. Where nobody answers at once, the call is open, for
    /// [`resume`](crate::Executor::resume), from its [`Finished`](Self::Finished) on.
    ApprovalRequested {
        /// The question.
        request: Arc<ApprovalRequest>,
        /// The display name of the tool.
        title: Arc<str>,
    },
    /// The call was answered.
    Finished {
        /// The answer.
        result: Arc<ToolResult>,
        /// The display name of the tool.
        title: Arc<str>,
    },
}

impl ToolEvent {
    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        match self {
            Self::Started { call, .. } => &call.id,
            Self::Updated { id, .. } | Self::Progress { id, .. } => id,
            Self::ApprovalRequested { request, .. } => &request.call.id,
            Self::Finished { result, .. } => &result.id,
        }
    }

    /// The name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Started { call, .. } => &call.name,
            Self::Updated { name, .. } | Self::Progress { name, .. } => name,
            Self::ApprovalRequested { request, .. } => &request.call.name,
            Self::Finished { result, .. } => &result.name,
        }
    }

    /// The display name of the tool: its title, or else its name as the model wrote it.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Started { title, .. }
            | Self::Updated { title, .. }
            | Self::Progress { title, .. }
            | Self::ApprovalRequested { title, .. }
            | Self::Finished { title, .. } => title,
        }
    }
}

/// Hears of all that an executor does, made by [`Executor::subscribe`](crate::Executor::subscribe).
///
/// A listener holds up nobody: it has a buffer, and one that falls behind by more than that is told
/// how many events it missed.
#[derive(Debug)]
pub struct EventListener {
    receiver: broadcast::Receiver<ToolEvent>,
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
        Self { receiver }
    }

    /// The next event; `None` once the executor is gone. May be dropped and asked again: nothing is lost.
    ///
    /// # Errors
    ///
    /// If events were missed; those that follow are there.
    pub async fn next(&mut self) -> Option<Result<ToolEvent, Lagged>> {
        match self.receiver.recv().await {
            Ok(event) => Some(Ok(event)),
            Err(RecvError::Lagged(missed)) => Some(Err(Lagged { missed })),
            Err(RecvError::Closed) => None,
        }
    }

    /// The next event that has happened already; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If events were missed; those that follow are there.
    pub fn try_next(&mut self) -> Option<Result<ToolEvent, Lagged>> {
        match self.receiver.try_recv() {
            Ok(event) => Some(Ok(event)),
            Err(broadcast::error::TryRecvError::Lagged(missed)) => Some(Err(Lagged { missed })),
            Err(_) => None,
        }
    }
}
