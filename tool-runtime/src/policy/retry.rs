//! Whether and when a failed attempt is repeated.

use std::{fmt, sync::Arc, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use tool_core::{Arguments, CallId, ErrorKind, Metadata, Retry, ToolError, ToolOutput};

use crate::{registry::Entry, shield::caught};

/// When the calls of an executor are repeated.
///
/// A tool that says `retry(..)` of itself is repeated by that. Another one only by a policy, and only if
/// it is `read_only` or `idempotent`, unless the policy is for [any tool](Self::any_tool). Only the call
/// itself is repeated: no hook, permission or event comes twice, but for updates, which carry the number of
/// their attempt. A stream is never repeated, nor a tool that [declares one](tool_core::Tool::is_streaming).
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{Executor, Registry, Retry, RetryPolicy};
///
/// let twice = RetryPolicy::new(Retry { attempts: 2, ..Retry::DEFAULT });
/// let executor = Executor::builder(Registry::builder().build()?).retry(twice).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RetryPolicy {
    retry: Retry,
    any_tool: bool,
    rule: Option<Arc<dyn RetryRule>>,
}

impl RetryPolicy {
    /// Repeats transient failures as `retry` says.
    #[must_use]
    pub fn new(retry: Retry) -> Self {
        Self { retry, any_tool: false, rule: None }
    }

    /// Repeats calls of any tool, also of one that may do a thing twice then.
    #[must_use]
    pub fn any_tool(mut self) -> Self {
        self.any_tool = true;
        self
    }

    /// Decides by `rule` in place of [`RetryInfo::is_transient`].
    #[must_use]
    pub fn rule(mut self, rule: impl RetryRule + 'static) -> Self {
        self.rule = Some(Arc::new(rule));
        self
    }

    /// How calls of a tool are repeated; `None` where they are not.
    pub(crate) fn of(policy: Option<&Self>, entry: &Entry) -> Option<Retry> {
        let metadata = entry.definition().metadata();
        let retry = metadata.retry.or_else(|| {
            let policy = policy.filter(|policy| policy.any_tool || repeats_safely(metadata));
            policy.map(|policy| policy.retry)
        });
        retry.filter(|retry| retry.attempts > 1 && !caught(|| entry.tool().is_streaming()).unwrap_or(true))
    }

    /// Whether another attempt should be made.
    pub(crate) fn decides(policy: Option<&Self>, info: &RetryInfo<'_>) -> Result<bool, ToolError> {
        match policy.and_then(|policy| policy.rule.as_ref()) {
            Some(rule) => rule.again(info),
            None => Ok(info.is_transient()),
        }
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { retry, any_tool, rule } = self;
        f.debug_struct("RetryPolicy")
            .field("retry", retry)
            .field("any_tool", any_tool)
            .field("rule", &rule.as_ref().map(|_| ".."))
            .finish()
    }
}

fn repeats_safely(metadata: &Metadata) -> bool {
    metadata.is_read_only() || metadata.is_idempotent()
}

/// Decides which failures are worth another attempt.
///
/// A function from a [`RetryInfo`] to a `bool` is one.
pub trait RetryRule: Send + Sync {
    /// Whether another attempt should be made.
    ///
    /// # Errors
    ///
    /// If the rule cannot say; no attempt follows, and the call fails with both errors.
    fn again(&self, info: &RetryInfo<'_>) -> Result<bool, ToolError>;
}

impl<F> RetryRule for F
where
    F: Fn(&RetryInfo<'_>) -> bool + Send + Sync,
{
    fn again(&self, info: &RetryInfo<'_>) -> Result<bool, ToolError> {
        Ok(self(info))
    }
}

/// What a rule decides on: an attempt that failed.
#[non_exhaustive]
pub struct RetryInfo<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// The id of the call.
    pub id: &'a CallId,
    /// Its arguments, in canonical form: what each attempt is given.
    pub arguments: &'a Arguments<'a>,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// How many there are at most.
    pub max_attempts: u32,
    /// What the attempt gave.
    pub outcome: &'a Result<ToolOutput, ToolError>,
}

impl RetryInfo<'_> {
    /// Whether the tool gave a result that [tells of a failure](ToolOutput::is_failure).
    #[must_use]
    pub fn is_result_failure(&self) -> bool {
        self.outcome.as_ref().is_ok_and(ToolOutput::is_failure)
    }

    /// What decides where there is no rule: whether the other side was not there, or late. Never a call
    /// that was cancelled or ran into the framework's own deadline, nor a result that tells of a failure.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.outcome.as_ref().is_err_and(|error| {
            error.is_retryable() && !matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut)
        })
    }
}

/// Without the arguments: there may be a secret among them.
impl fmt::Debug for RetryInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryInfo")
            .field("tool", &self.tool)
            .field("id", &self.id)
            .field("arguments", &format_args!("{} bytes", self.arguments.as_str().len()))
            .field("attempt", &self.attempt)
            .field("max_attempts", &self.max_attempts)
            .field("outcome", &self.outcome)
            .finish()
    }
}

/// The pauses before the second attempt and those that follow.
pub(crate) fn pauses(retry: Retry) -> impl Iterator<Item = Duration> {
    let max = Duration::from_millis(retry.max_ms);
    // A factor below 1 would make each pause shorter than the last; the library takes none.
    let factor = if retry.multiplier.is_finite() { retry.multiplier.max(1.0) } else { 1.0 };
    #[expect(clippy::cast_possible_truncation, reason = "a factor for pauses, not for sums")]
    let builder = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(retry.initial_ms))
        .with_factor(factor as f32)
        .with_max_delay(max)
        .with_max_times(retry.attempts.saturating_sub(1) as usize);
    builder.build().map(move |pause| match retry.jitter {
        // By up to a half: enough to keep callers from returning in step, and never above the maximum.
        true => pause.min(max).mul_f64(1.0 - fastrand::f64() / 2.0),
        false => pause.min(max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Retry = Retry { attempts: 4, initial_ms: 200, max_ms: 500, multiplier: 2.0, jitter: false };

    fn in_ms(retry: Retry) -> Vec<u128> {
        pauses(retry).map(|pause| pause.as_millis()).collect()
    }

    // J02
    #[test]
    fn pauses_grow_by_the_factor_up_to_the_maximum() {
        assert_eq!(in_ms(STEADY), [200, 400, 500]);
        assert_eq!(in_ms(Retry { multiplier: 0.5, ..STEADY }), [200, 200, 200]);
        assert_eq!(in_ms(Retry { multiplier: f64::NAN, ..STEADY }), [200, 200, 200]);
        assert_eq!(in_ms(Retry { multiplier: f64::INFINITY, ..STEADY }), [200, 200, 200]);
        assert_eq!(in_ms(Retry { initial_ms: 0, ..STEADY }), [0, 0, 0]);
        assert_eq!(in_ms(Retry { attempts: 1, ..STEADY }), [0; 0]);
        assert_eq!(in_ms(Retry { attempts: 0, ..STEADY }), [0; 0]);
    }

    // J03
    #[test]
    fn jitter_is_random_and_never_exceeds_the_maximum() {
        let jittered = Retry { attempts: 1001, jitter: true, ..STEADY };
        let pauses = in_ms(jittered);
        assert_eq!(pauses.len(), 1000);
        assert!(pauses.iter().all(|pause| (100..=500).contains(pause)), "{pauses:?}");
        assert!(pauses.iter().any(|pause| pause != &pauses[999]));
    }
}
