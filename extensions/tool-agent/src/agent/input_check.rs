//! The check of a user's message.

use std::sync::Arc;

use tool_runtime::{BoxFuture, RunContext, ToolError};

use crate::Message;

/// The decision of an [input check](crate::AgentBuilder::input_check).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputDecision {
    /// The run continues.
    Accept,
    /// The run ends for this reason, which is shown to the user.
    Refuse(String),
}

pub(crate) type CheckFuture = BoxFuture<'static, Result<InputDecision, ToolError>>;

pub(crate) type InputCheck = dyn Fn(Arc<RunContext>, Message) -> CheckFuture + Send + Sync;
