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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_as_far_as_they_are_known() {
        let usage = |input, output| Usage { input, output, ..Usage::default() };
        for (usage, total) in [
            (usage(None, None), 0),
            (usage(Some(3), None), 3),
            (usage(None, Some(4)), 4),
            (usage(Some(3), Some(4)), 7),
            (usage(Some(u64::MAX), Some(4)), u64::MAX),
        ] {
            assert_eq!((usage.total(), u64::from(usage)), (total, total));
        }
        assert_eq!(sum_of(None, [Some(1)]), None);
        assert_eq!(sum_of(Some(1), [None, Some(2), Some(3)]), Some(6));
        assert_eq!(sum_of(Some(u64::MAX), [Some(2)]), Some(u64::MAX));
    }

    #[test]
    fn a_count_is_a_number_at_its_path() {
        let value = ExactValue::read(r#"{"a":{"b":7,"c":"x","d":1.5},"e":8}"#).unwrap_or(ExactValue::Null);
        for (path, count) in [
            (&["a", "b"][..], Some(7)),
            (&["e"], Some(8)),
            (&["a"], None),
            (&["a", "c"], None),
            (&["a", "d"], None),
            (&["a", "z"], None),
            (&["e", "b"], None),
            (&[], None),
        ] {
            assert_eq!(count_at(&value, path), count, "{path:?}");
        }
    }
}
