//! The outcomes of the calls of a batch.

use serde::{Deserialize, Serialize};
use tool_core::{Actions, CallAddress, CallId};

use super::{ToolCall, ToolResult, wire::PendingWire};
use crate::policy::ApprovalRequest;

/// The outcome of one call of a batch. The rare variants are boxed, since a batch moves the outcome of each call.
#[derive(Debug, Clone)]
pub enum CallOutcome {
    /// The call was answered.
    Finished(ToolResult),
    /// The call is left to the caller, who answers it with [`Executor::submit_result`](crate::Executor::submit_result)
    /// under this address.
    External(Box<ToolCall>, CallAddress),
    /// The call has no final result yet.
    Pending(Box<Pending>),
}

/// A call without its final result.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "PendingWire")]
pub struct Pending {
    /// The call.
    pub call: ToolCall,
    /// The address under which the call is answered.
    pub address: CallAddress,
    /// The operation that the call waits for.
    pub operation: Operation,
    /// The interim result for the model; `None` if there is none. For a confirmation, it is an error of kind
    /// [`ApprovalRequired`](tool_core::ErrorKind::ApprovalRequired) with the text `requires confirmation: ..` and the hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

/// The operation that a pending call waits for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// Work that the tool started and that continues after the batch, with the id that the tool gave it, if any.
    LongRunning(Option<String>),
    /// A person's answer to this request.
    Confirmation(Box<ApprovalRequest>),
}

impl CallOutcome {
    /// Returns the id of the call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        match self {
            Self::Finished(result) => &result.id,
            Self::External(call, _) => &call.id,
            Self::Pending(pending) => &pending.call.id,
        }
    }

    /// Returns the name of the tool, as the model wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Finished(result) => &result.name,
            Self::External(call, _) => &call.name,
            Self::Pending(pending) => &pending.call.name,
        }
    }

    /// Returns the address under which the call is answered; `None` if the call is finished.
    #[must_use]
    pub fn address(&self) -> Option<&CallAddress> {
        match self {
            Self::Finished(_) => None,
            Self::External(_, address) => Some(address),
            Self::Pending(pending) => Some(&pending.address),
        }
    }

    /// Returns the result for the model: final, interim, or `None` if there is none yet. The result of a pending call is
    /// interim ([`Pending::result`]); [`is_finished`](Self::is_finished) distinguishes them.
    #[must_use]
    pub fn result(&self) -> Option<&ToolResult> {
        match self {
            Self::Finished(result) => Some(result),
            Self::External(..) => None,
            Self::Pending(pending) => pending.result.as_ref(),
        }
    }

    /// Returns `true` if the call has its final result.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self, Self::Finished(_))
    }
}

/// Merges the actions that the calls of a batch request.
///
/// State changes and artifacts are merged in the order of the calls, so that the later call wins;
/// [`terminate`](Actions::terminate) is set only if every call requests it. A failed call requests no actions.
///
/// A program's agent loop calls this function after each batch, and ends the run if `terminate` is set: an executor
/// applies changes of [`State`](crate::State) itself, and no other action.
///
/// # Examples
///
/// ```
/// use tool_runtime::{CallOutcome, ToolOutput, ToolResult, call::merged_actions, output::Actions};
///
/// let asks = Actions { terminate: true, ..Actions::default() };
/// let result = |output| CallOutcome::Finished(ToolResult::new("id".into(), "tool", Ok(output)));
/// let asking = result(ToolOutput::from("done").with_actions(asks));
/// assert!(merged_actions([&asking, &asking]).terminate);
/// assert!(!merged_actions([&asking, &result(ToolOutput::from("not yet"))]).terminate);
/// ```
pub fn merged_actions<'a>(outcomes: impl IntoIterator<Item = &'a CallOutcome>) -> Actions {
    let (mut merged, mut unanimous, mut any) = (Actions::default(), true, false);
    for outcome in outcomes {
        any = true;
        let actions = outcome.result().and_then(ToolResult::actions);
        unanimous &= actions.is_some_and(|actions| actions.terminate);
        if let Some(actions) = actions {
            merged.follow(actions.clone());
        }
    }
    merged.terminate = any && unanimous;
    merged
}
