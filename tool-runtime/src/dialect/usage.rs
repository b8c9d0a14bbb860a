//! Token counts.

use serde::{Deserialize, Serialize};
use tool_core::internals::ExactValue;

/// The token counts of one response, as far as the provider sends them. They have the same meaning for every
/// provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Usage {
    /// The tokens of the request, including tokens that were read from or written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// The tokens of the response, including reasoning tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The input tokens that were read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// The input tokens that were written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_written: Option<u64>,
    /// The output tokens that are reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Returns the tokens of the request and of the response; absent counts are 0.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input.unwrap_or(0).saturating_add(self.output.unwrap_or(0))
    }
}

/// The [total](Usage::total), for [`RunContext::count_tokens`](tool_core::RunContext::count_tokens).
impl From<Usage> for u64 {
    fn from(usage: Usage) -> Self {
        usage.total()
    }
}

/// Returns the number at a path of member names.
pub(super) fn count_at(value: &ExactValue<'_>, path: &[&str]) -> Option<u64> {
    path.iter().try_fold(value, |value, name| value.get(name))?.as_u64()
}

/// Returns the sum of `count` and the present `others`; `None` without `count`.
pub(super) fn sum_of<const N: usize>(count: Option<u64>, others: [Option<u64>; N]) -> Option<u64> {
    let others = others.into_iter().flatten();
    count.map(|count| others.fold(count, u64::saturating_add))
}
