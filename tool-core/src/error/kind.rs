//! The kinds of errors of a call.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::ToolError;

/// The kind of an error of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no tool of this name.
    UnknownTool,
    /// The arguments do not match the input schema; the tool was not run.
    InvalidArguments,
    /// The model's response ended before the call was complete; the tool was not run.
    Incomplete,
    /// The call was not permitted; the tool was not run.
    Denied,
    /// The call requires approval by a person; the tool was not run.
    ApprovalRequired,
    /// The call was skipped, for example because of a message of the user; the tool was not run.
    Skipped,
    /// The tool is declared, but this program cannot run it.
    Unavailable,
    /// The call was cancelled.
    Cancelled,
    /// The call exceeded a timeout or deadline of the framework.
    TimedOut,
    /// The tool panicked, or a hook or policy that handles the call. Other calls are not affected.
    ///
    /// Not caught: panics in a program built with `panic = "abort"`; a second panic during unwinding, which aborts
    /// the process; panics in the `Drop` of values owned by the caller, such as an outcome; and panics in subscribers
    /// of `tracing` and in wakers.
    Panicked,
    /// The result does not match the output schema, or cannot be serialised as JSON.
    InvalidOutput,
    /// The [budget](crate::Budget) of the run is used up; the tool was not run.
    OverBudget,
    /// The run was ended on purpose by [`ToolError::stop`].
    Stopped,
    /// The tool returned an error.
    Failed,
    /// Something other than a tool does not exist: see [`is_not_found`](Self::is_not_found).
    NotFound,
    /// An argument matches the input schema, but the tool cannot use it.
    BadParameter,
    /// The tool, or this use of it, is not implemented.
    NotImplemented,
    /// The call conflicts with the present state, such as a name that is already in use.
    Conflict,
    /// The tool is broken; neither the caller nor a retry can change that.
    Internal,
}

impl ErrorKind {
    /// Returns the stable name of the kind, for programs, logs and traces.
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

    /// Returns `true` if the text of such an error is the tool's own message, which does not say that it is an error.
    #[doc(hidden)]
    #[must_use]
    pub fn has_message_of_tool(self) -> bool {
        match self {
            Self::Failed
            | Self::NotFound
            | Self::BadParameter
            | Self::NotImplemented
            | Self::Conflict
            | Self::Internal => true,
            Self::UnknownTool
            | Self::InvalidArguments
            | Self::Incomplete
            | Self::Denied
            | Self::ApprovalRequired
            | Self::Skipped
            | Self::Unavailable
            | Self::Cancelled
            | Self::TimedOut
            | Self::Panicked
            | Self::InvalidOutput
            | Self::OverBudget
            | Self::Stopped => false,
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
    /// Creates a stop: an error by which a tool, hook, policy or approver ends the run on purpose, because of
    /// `reason`.
    ///
    /// The stop is the result of its call; hooks cannot replace it, and it is never retried. Calls that have not
    /// started are skipped, running calls end by themselves, and later batches of the run are not started
    /// ([`RunContext::stopped`](crate::RunContext::stopped)). In a [child run](crate::ToolContext::child_run), it
    /// ends only that run: the tool that started it finds the stop among the outcomes and decides about its own call.
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

/// Errors of a tool by kind. A model reads only the message.
impl ToolError {
    /// Creates an error for something that does not exist, such as an order or a file.
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

    /// Creates an error for an argument that matches the input schema but cannot be used.
    pub fn bad_parameter(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::BadParameter, message)
    }

    /// Creates an error for a tool, or a use of it, that is not implemented.
    pub fn not_implemented(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::NotImplemented, message)
    }

    /// Creates an error for a conflict with the present state.
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// Creates an error for a broken tool. The model reads `message`, so it must not contain internal details.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }
}
