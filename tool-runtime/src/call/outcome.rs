//! The outcomes of the calls of a batch.

use serde::{Deserialize, Serialize};
use tool_core::{Actions, CallAddress, CallId};

use super::{ToolCall, ToolResult, wire::PendingWire};
use crate::policy::ApprovalRequest;

/// What became of one call of a batch.
#[derive(Debug, Clone)]
pub enum CallOutcome {
    /// It was answered.
    Finished(ToolResult),
    /// It is left to the caller, who answers by [`Executor::submit_result`](crate::Executor::submit_result) to this address.
    External(ToolCall, CallAddress),
    /// Its answer is still to come.
    Pending(Pending),
}

/// A call whose answer is still to come.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "PendingWire")]
pub struct Pending {
    /// The call.
    pub call: ToolCall,
    /// The address of the call, by which it is answered.
    pub address: CallAddress,
    /// The operation that the call waits for.
    pub operation: Operation,
    /// The interim result for the model, such as that an approval is required; `None` if there is none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

/// What a pending call waits for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// For what the tool started, under the id that the tool gave it; `None` where it gave none.
    LongRunning(Option<String>),
    /// For a person, who was asked this.
    Confirmation(Box<ApprovalRequest>),
}

impl CallOutcome {
    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        match self {
            Self::Finished(result) => &result.id,
            Self::External(call, _) => &call.id,
            Self::Pending(pending) => &pending.call.id,
        }
    }

    /// The name of the tool, as the model wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Finished(result) => &result.name,
            Self::External(call, _) => &call.name,
            Self::Pending(pending) => &pending.call.name,
        }
    }

    /// The address by which the call is answered; `None` where it is finished.
    #[must_use]
    pub fn address(&self) -> Option<&CallAddress> {
        match self {
            Self::Finished(_) => None,
            Self::External(_, address) => Some(address),
            Self::Pending(pending) => Some(&pending.address),
        }
    }

    /// What the model is told now: at most one result for each call.
    #[must_use]
    pub fn result(&self) -> Option<&ToolResult> {
        match self {
            Self::Finished(result) => Some(result),
            Self::External(..) => None,
            Self::Pending(pending) => pending.result.as_ref(),
        }
    }

    /// Whether the answer is there.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self, Self::Finished(_))
    }
}

/// Merges the actions that the calls of a batch ask of their run: states and artifacts in the order of the calls, so
/// that the later call wins; [`terminate`](Actions::terminate) only where every call asks for it. A call that failed asks
/// for nothing. The loop of a program looks at it after each batch, and ends where it asks for that: an executor applies
/// the changes of [`State`](crate::State) itself, and no other action.
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
