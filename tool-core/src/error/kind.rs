//! The ways in which a call fails.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::ToolError;

/// Which way a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no tool of that name.
    UnknownTool,
    /// The arguments do not fit the input schema; the tool was not run.
    InvalidArguments,
    /// The model's response ended before the call did; the tool was not run.
    Incomplete,
    /// The call was not permitted; the tool was not run.
    Denied,
    /// A person has to agree first; the tool was not run.
    ApprovalRequired,
    /// Something else came first, such as a message of the user; the tool was not run.
    Skipped,
    /// The tool is declared, but nothing here can run it.
    Unavailable,
    /// The call was cancelled.
    Cancelled,
    /// The framework's own deadline passed.
    TimedOut,
    /// The tool panicked, or a hook or policy that was asked about the call. No other call is affected.
    ///
    /// Not caught are: a panic of a program that is built with `panic = "abort"`, and a second panic while the first
    /// unwinds, which abort the process; panics in the drop of what the caller holds, such as an outcome; and panics in
    /// subscribers of `tracing` and in wakers.
    Panicked,
    /// The result does not fit the output schema, or cannot be written as JSON.
    InvalidOutput,
    /// The run has used up its [budget](crate::Budget); the tool was not run.
    OverBudget,
    /// The run was ended on purpose, by [`ToolError::stop`].
    Stopped,
    /// The tool said that it failed.
    Failed,
    /// There is no such thing, other than a tool: see [`is_not_found`](Self::is_not_found).
    NotFound,
    /// An argument fits the input schema, and means nothing to the tool.
    BadParameter,
    /// The tool, or this use of it, is not implemented.
    NotImplemented,
    /// The call contradicts what is there already, such as a name that is taken.
    Conflict,
    /// The tool is broken: neither the caller nor another attempt can change anything about it.
    Internal,
}

impl ErrorKind {
    /// The name by which programs, logs and traces know it; it stays as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tool_runtime::ErrorKind::InvalidArguments.name(), "invalid_arguments");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::InvalidArguments => "invalid_arguments",
            Self::Incomplete => "incomplete",
            Self::Denied => "denied",
            Self::ApprovalRequired => "approval_required",
            Self::Skipped => "skipped",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Panicked => "panicked",
            Self::InvalidOutput => "invalid_output",
            Self::OverBudget => "over_budget",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::NotFound => "not_found",
            Self::BadParameter => "bad_parameter",
            Self::NotImplemented => "not_implemented",
            Self::Conflict => "conflict",
            Self::Internal => "internal",
        }
    }

    /// Returns `true` if something does not exist: a tool ([`UnknownTool`](Self::UnknownTool)) or anything else
    /// ([`NotFound`](Self::NotFound)).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ErrorKind, ToolError};
    ///
    /// assert!(ErrorKind::UnknownTool.is_not_found());
    /// assert!(ToolError::not_found("no order 7").kind().is_not_found());
    /// ```
    #[must_use]
    pub fn is_not_found(self) -> bool {
        matches!(self, Self::UnknownTool | Self::NotFound)
    }
}

impl ToolError {
    /// Ends the run on purpose, because of `reason`: for a tool, a hook, a policy or an approver after which no model
    /// is to be asked again.
    ///
    /// It is the result of its call, whatever hooks would put in its place, and is never retried. Calls that have not
    /// started are skipped, those that run end by themselves, and later batches of the run are not started
    /// ([`RunContext::stopped`](crate::RunContext::stopped)). In a [child run](crate::ToolContext::child_run) it ends that
    /// run alone: the tool that started it sees the stop among the outcomes, and decides about its own call.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolError;
    ///
    /// fn pay(balance: u32) -> Result<(), ToolError> {
    ///     if balance == 0 {
    ///         return Err(ToolError::stop("the account is closed"));
    ///     }
    ///     Ok(())
    /// }
    ///
    /// let error = pay(0).unwrap_err();
    /// assert!(error.is_stop());
    /// assert_eq!(error.feedback(), "Stopped: the account is closed");
    /// ```
    pub fn stop(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Stopped, reason)
    }

    /// Returns `true` if the error [ends the run](Self::stop).
    #[must_use]
    pub fn is_stop(&self) -> bool {
        self.kind() == ErrorKind::Stopped
    }
}

/// Errors that a tool gives by their kind. A model reads the message alone.
impl ToolError {
    /// Something that the call asks for does not exist, such as an order or a file.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ErrorKind, ToolError};
    ///
    /// fn order(id: u32) -> Result<String, ToolError> {
    ///     Err(ToolError::not_found(format!("there is no order {id}")))
    /// }
    ///
    /// let error = order(7).unwrap_err();
    /// assert_eq!((error.kind(), error.feedback().as_str()), (ErrorKind::NotFound, "there is no order 7"));
    /// ```
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// An argument fits the input schema, and the tool can do nothing with it.
    pub fn bad_parameter(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::BadParameter, message)
    }

    /// The tool, or this use of it, is not implemented.
    pub fn not_implemented(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::NotImplemented, message)
    }

    /// The call contradicts what is there already.
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// The tool is broken; `message` is read by the model, so that it holds nothing of the program's insides.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }
}
