//! Retries of failed attempts.

use std::{fmt, future::Future, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use tool_core::{Metadata, Retry, ToolError, ToolOutput};

use super::{
    AttemptHandle, RetryRule,
    retry_rule::{Retries, SharedRetryRule},
};
use crate::registry::Entry;

/// Retries failed calls of an executor. Default: only tools with `retry(..)` of their own are retried.
///
/// The `retry(..)` of a tool takes precedence. Other tools are retried by the policy if they are `read_only` or
/// `idempotent`, or if the policy applies to [any tool](Self::any_tool). Only the body of the tool runs again: hooks,
/// permissions and events are not repeated, except that updates carry the number of their attempt. A stream is never
/// retried, nor is a tool that [declares one](tool_core::Metadata::streaming).
///
/// An attempt may ask for a pause, by [`ToolError::with_retry_after`] or
/// [`ToolOutput::as_retryable`](tool_core::ToolOutput::as_retryable): the next attempt is not made earlier. If the pause
/// is longer than the maximum of the policy, no attempt follows.
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{Executor, Registry, definition::Retry, policy::RetryPolicy};
///
/// let twice = RetryPolicy::new(Retry { attempts: 2, ..Retry::DEFAULT });
/// let executor = Executor::builder(Registry::builder().build()?).retry(twice).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RetryPolicy {
    retry: Retry,
    any_tool: bool,
    rule: Option<SharedRetryRule>,
}

impl RetryPolicy {
    /// Creates a policy that retries transient failures with the attempts and pauses of `retry`.
    #[must_use]
    pub fn new(retry: Retry) -> Self {
        Self { retry, any_tool: false, rule: None }
    }

    /// Also retries tools that are neither `read_only` nor `idempotent`, whose effects may then occur twice. Default:
    /// off.
    #[must_use]
    pub fn any_tool(mut self) -> Self {
        self.any_tool = true;
        self
    }

    /// Sets the rule that decides which failures are retried. Default:
    /// [`RetryInfo::is_transient`](super::RetryInfo::is_transient).
    #[must_use]
    pub fn rule(mut self, rule: impl RetryRule + 'static) -> Self {
        self.rule = Some(SharedRetryRule::new(rule));
        self
    }

    /// Sets an asynchronous closure that decides which failures are retried. Default: [`AttemptHandle::is_transient`].
    ///
    /// # Examples
    ///
    /// ```standalone_crate
    /// use tool_runtime::{Executor, Registry, definition::Retry, policy::RetryPolicy};
    ///
    /// let policy = RetryPolicy::new(Retry::DEFAULT).retry_if(|attempt| async move {
    ///     let is_patient = attempt.run().is_some_and(|run| run.user().is_some());
    ///     Ok(attempt.is_transient() || is_patient && attempt.is_result_failure())
    /// });
    /// let executor = Executor::builder(Registry::builder().build()?).retry(policy).build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn retry_if<F, R>(self, decides: F) -> Self
    where
        F: Fn(AttemptHandle) -> R + Send + Sync + 'static,
        R: Future<Output = Result<bool, ToolError>> + Send + 'static,
    {
        self.rule(Retries(decides))
    }

    /// Returns the retries of a tool; `None` if it is not retried.
    pub(crate) fn retry_of_tool(policy: Option<&Self>, entry: &Entry) -> Option<Retry> {
        let metadata = entry.definition().metadata();
        let retry = metadata.retry.or_else(|| {
            let policy = policy.filter(|policy| policy.any_tool || repeats_safely(metadata));
            policy.map(|policy| policy.retry)
        });
        retry.filter(|retry| retry.attempts > 1 && !metadata.streaming)
    }

    /// Returns the rule that replaces the default one.
    pub(crate) fn rule_of(policy: Option<&Self>) -> Option<&SharedRetryRule> {
        policy.and_then(|policy| policy.rule.as_ref())
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

/// Returns `true` if repeating a call of the tool has no additional effect.
pub(crate) fn repeats_safely(metadata: &Metadata) -> bool {
    metadata.is_read_only() || metadata.is_idempotent()
}

/// Returns the pauses before the second and all later attempts.
pub(crate) fn retry_pauses(retry: Retry) -> impl Iterator<Item = Duration> {
    let max = Duration::from_millis(retry.max_ms);
    // A factor below 1 would shorten each pause; `backon` does not accept it.
    let factor = if retry.multiplier.is_finite() { retry.multiplier.max(1.0) } else { 1.0 };
    #[expect(clippy::cast_possible_truncation, reason = "a factor for pauses, not for sums")]
    let builder = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(retry.initial_ms))
        .with_factor(factor as f32)
        .with_max_delay(max)
        .with_max_times(retry.attempts.saturating_sub(1) as usize);
    builder.build().map(move |pause| match retry.jitter {
        // Jitter shortens a pause by up to half: enough to desynchronize callers, and never above the maximum.
        true => pause.min(max).mul_f64(1.0 - fastrand::f64() / 2.0),
        false => pause.min(max),
    })
}

/// Returns the pause before the next attempt: `pause`, or the longer one that `outcome` asks for; `None` if that is longer
/// than the policy permits.
pub(crate) fn pause_after(
    outcome: &Result<ToolOutput, ToolError>,
    pause: Duration,
    retry: Retry,
) -> Option<Duration> {
    let asked = match outcome {
        Ok(output) => output.retry_after(),
        Err(error) => error.retry_after(),
    };
    let asked = asked.unwrap_or_default();
    (asked <= Duration::from_millis(retry.max_ms)).then_some(pause.max(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Retry = Retry { attempts: 4, initial_ms: 200, max_ms: 500, multiplier: 2.0, jitter: false };

    fn in_ms(retry: Retry) -> Vec<u128> {
        retry_pauses(retry).map(|pause| pause.as_millis()).collect()
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
