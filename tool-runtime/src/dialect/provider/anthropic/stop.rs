//! The stop reasons, and the token counts.

use tool_core::internals::ExactValue;

use crate::dialect::{
    Usage,
    usage::{count_at, sum_of},
};

/// The [stop reasons](https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons) after which
/// every call is complete. `pause_turn` is included: native tools paused the turn between two blocks.
/// `stop_sequence` is not: after a complete call the reason is `tool_use`, so the sequence occurred inside the
/// last one.
pub(super) const FINISHED: &[&str] = &["tool_use", "end_turn", "pause_turn"];

/// Input tokens are counted [without cached
/// ones](https://platform.claude.com/docs/en/build-with-claude/prompt-caching#tracking-cache-performance).
pub(super) fn token_usage(usage: &ExactValue<'_>) -> Usage {
    let count = |name: &str| count_at(usage, &[name]);
    let (cached, cache_written) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    Usage {
        input: sum_of(count("input_tokens"), [cached, cache_written]),
        output: count("output_tokens"),
        cached,
        cache_written,
        reasoning: count_at(usage, &["output_tokens_details", "thinking_tokens"]),
    }
}
