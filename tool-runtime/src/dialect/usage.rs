//! Numbers of tokens.

use serde::{Deserialize, Serialize};
use tool_core::__private::ExactValue;

/// The numbers of tokens of one response, as far as the provider gives them. They mean the same for every provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Usage {
    /// The tokens of the request, with those that were read from a cache or written to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// The tokens of the response, with those of the reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The tokens among the input that were read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// The tokens among the input that were written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_written: Option<u64>,
    /// The tokens among the output that are reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// The tokens of the request and of the response.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input.unwrap_or(0).saturating_add(self.output.unwrap_or(0))
    }
}

/// The [total](Usage::total), as a run [counts](tool_core::RunContext::count_tokens) it.
impl From<Usage> for u64 {
    fn from(usage: Usage) -> Self {
        usage.total()
    }
}

/// The number at a path of names.
pub(super) fn counted(value: &ExactValue<'_>, path: &[&str]) -> Option<u64> {
    path.iter().try_fold(value, |value, name| value.get(name))?.as_u64()
}

/// `count` and the `others` that are given; `None` without `count`.
pub(super) fn sum<const N: usize>(count: Option<u64>, others: [Option<u64>; N]) -> Option<u64> {
    let others = others.into_iter().flatten();
    count.map(|count| others.fold(count, u64::saturating_add))
}
