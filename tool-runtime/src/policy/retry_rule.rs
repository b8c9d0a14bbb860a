//! Retry rules, which decide which failures are retried.

use std::{fmt, future::Future, ops::Deref, sync::Arc};

use tool_core::{Arguments, BoxFuture, CallId, ErrorKind, RunContext, ToolContext, ToolError, ToolOutput};

use super::shared_handle;
use crate::{call_handle::CallHandle, guard::GuardedArc};

/// Decides which failures are retried.
///
/// The method can be written as an `async fn`. A function from a [`RetryInfo`] to a `bool` is a rule;
/// [`RetryPolicy::retry_if`](crate::policy::RetryPolicy::retry_if) accepts an asynchronous closure. A rule that is
/// chosen at run time is a [`SharedRetryRule`].
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{ToolError, policy::{RetryInfo, RetryRule}};
///
/// /// Also retries calls whose results report a failure, once.
/// struct Once;
///
/// impl RetryRule for Once {
///     async fn again(&self, info: &RetryInfo<'_>) -> Result<bool, ToolError> {
///         Ok(info.is_transient() || info.is_result_failure() && info.attempt == 1)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a rule for retries",
    label = "does not implement `RetryRule`",
    note = "give an asynchronous closure to `.retry_if(|attempt| async move {{ Ok(attempt.is_transient()) }})`",
    note = "a synchronous closure is `|info: &RetryInfo<'_>| info.is_transient()`"
)]
pub trait RetryRule: Send + Sync {
    /// Returns `true` to make another attempt.
    ///
    /// # Errors
    ///
    /// If an error is returned, no attempt follows, and the call fails with both errors.
    fn again(&self, info: &RetryInfo<'_>) -> impl Future<Output = Result<bool, ToolError>> + Send;
}

#[diagnostic::do_not_recommend]
impl<F> RetryRule for F
where
    F: Fn(&RetryInfo<'_>) -> bool + Send + Sync,
{
    async fn again(&self, info: &RetryInfo<'_>) -> Result<bool, ToolError> {
        Ok(self(info))
    }
}

/// A failed attempt, on which a [`RetryRule`] decides.
#[non_exhaustive]
pub struct RetryInfo<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// The id of the call.
    pub id: &'a CallId,
    /// The arguments in canonical form, which every attempt receives.
    pub arguments: &'a Arguments<'a>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The maximum number of attempts.
    pub max_attempts: u32,
    /// The result of the attempt.
    pub outcome: &'a Result<ToolOutput, ToolError>,
    /// The context of the call.
    pub cx: &'a ToolContext,
    pub(crate) definition: &'a tool_core::ToolDefinition,
}

impl RetryInfo<'_> {
    /// Returns the output of the attempt; `None` if it failed with an error.
    #[must_use]
    pub fn result(&self) -> Option<&ToolOutput> {
        self.outcome.as_ref().ok()
    }

    /// Returns the error of the attempt; `None` if it returned an output.
    #[must_use]
    pub fn error(&self) -> Option<&ToolError> {
        self.outcome.as_ref().err()
    }

    /// Returns `true` if the tool returned an output that [reports a failure](ToolOutput::is_failure).
    #[must_use]
    pub fn is_result_failure(&self) -> bool {
        is_result_failure(self.outcome)
    }

    /// The default rule. Returns `true` if a remote service was unavailable or timed out, or the output is
    /// [marked as temporary](ToolOutput::as_retryable); `false` if the call was cancelled, exceeded a deadline of the
    /// framework, or returned any other output, also one that reports a failure.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        is_transient(self.outcome)
    }

    /// Returns the run that the call belongs to.
    #[must_use]
    pub fn run(&self) -> Option<&RunContext> {
        self.cx.run().map(AsRef::as_ref)
    }

    /// Returns an owned handle to the attempt, with a copy of its arguments and its result.
    #[must_use]
    pub fn handle(&self) -> AttemptHandle {
        let call = CallHandle::new(self.id, Some(self.definition), self.arguments, self.cx.run());
        let call = call.with_context(self.cx).with_attempt(self.attempt);
        let (max_attempts, outcome) = (self.max_attempts, self.outcome.clone());
        AttemptHandle(Arc::new(AttemptParts { call, max_attempts, outcome }))
    }
}

fn is_result_failure(outcome: &Result<ToolOutput, ToolError>) -> bool {
    outcome.as_ref().is_ok_and(ToolOutput::is_failure)
}

fn is_transient(outcome: &Result<ToolOutput, ToolError>) -> bool {
    match outcome {
        Ok(output) => output.retry_after().is_some(),
        Err(error) => {
            error.is_retryable() && !matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut)
        }
    }
}

/// Omits the arguments, which may contain secrets.
impl fmt::Debug for RetryInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryInfo")
            .field("tool", &self.tool)
            .field("id", &self.id)
            .field("arguments", &format_args!("{} bytes", self.arguments.as_str().len()))
            .field("attempt", &self.attempt)
            .field("max_attempts", &self.max_attempts)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

/// An owned handle to a failed attempt and its call. Cheap to clone.
#[derive(Clone)]
pub struct AttemptHandle(Arc<AttemptParts>);

struct AttemptParts {
    call: CallHandle,
    max_attempts: u32,
    outcome: Result<ToolOutput, ToolError>,
}

impl AttemptHandle {
    /// Returns the maximum number of attempts.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.0.max_attempts
    }

    /// Returns the output of the attempt; `None` if it failed with an error.
    #[must_use]
    pub fn result(&self) -> Option<&ToolOutput> {
        self.0.outcome.as_ref().ok()
    }

    /// Returns the error of the attempt; `None` if it returned an output.
    #[must_use]
    pub fn error(&self) -> Option<&ToolError> {
        self.0.outcome.as_ref().err()
    }

    /// Returns `true` if the tool returned an output that reports a failure: see [`RetryInfo::is_result_failure`].
    #[must_use]
    pub fn is_result_failure(&self) -> bool {
        is_result_failure(&self.0.outcome)
    }

    /// Returns the decision of the default rule: see [`RetryInfo::is_transient`].
    #[must_use]
    pub fn is_transient(&self) -> bool {
        is_transient(&self.0.outcome)
    }
}

impl Deref for AttemptHandle {
    type Target = CallHandle;

    fn deref(&self) -> &CallHandle {
        &self.0.call
    }
}

impl fmt::Debug for AttemptHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptHandle")
            .field("call", &self.0.call)
            .field("max_attempts", &self.0.max_attempts)
            .field("outcome", &self.0.outcome)
            .finish()
    }
}

/// A rule made of a closure that receives an owned handle.
pub(super) struct Retries<F>(pub(super) F);

impl<F, R> RetryRule for Retries<F>
where
    F: Fn(AttemptHandle) -> R + Send + Sync,
    R: Future<Output = Result<bool, ToolError>> + Send,
{
    fn again(&self, info: &RetryInfo<'_>) -> impl Future<Output = Result<bool, ToolError>> + Send {
        (self.0)(info.handle())
    }
}

/// A retry rule of any type, for one that is chosen at run time. Cheap to clone.
#[derive(Clone)]
pub struct SharedRetryRule(GuardedArc<dyn ErasedRetryRule>);

/// The object-safe form of [`RetryRule`].
pub(crate) trait ErasedRetryRule: Send + Sync {
    fn again<'a>(&'a self, info: &'a RetryInfo<'_>) -> BoxFuture<'a, Result<bool, ToolError>>;
}

impl<T: RetryRule> ErasedRetryRule for T {
    fn again<'a>(&'a self, info: &'a RetryInfo<'_>) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(RetryRule::again(self, info))
    }
}

shared_handle!(SharedRetryRule(rule: RetryRule) as ErasedRetryRule);

impl RetryRule for SharedRetryRule {
    async fn again(&self, info: &RetryInfo<'_>) -> Result<bool, ToolError> {
        self.dynamic().again(info).await
    }
}
