/// Which way a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// The tool said that it failed.
    Failed,
}

impl ErrorKind {
    /// The name by which programs, logs and traces know it; it stays as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tool_core::ErrorKind::InvalidArguments.name(), "invalid_arguments");
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
            Self::Failed => "failed",
        }
    }
}
