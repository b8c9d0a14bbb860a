//! The stop reasons, and the token counts.

use tool_core::internals::ExactValue;

use crate::dialect::{Usage, usage::count_at};

/// The finish reasons after which every call is complete: [OpenAI's
/// own](https://platform.openai.com/docs/api-reference/chat/object#chat/object-choices), and equivalent ones of
/// servers that pass on the reasons of their models (Anthropic's, `eos` and `eos_token` of inference servers,
/// Cohere's). All others, known (`length`, `content_filter`) or not, mean that the model was stopped.
pub(super) const FINISHED: &[&str] = &[
    "stop",
    "tool_calls",
    "function_call",
    "tool_call",
    "tool_use",
    "end_turn",
    "eos",
    "eos_token",
    "complete",
];

pub(super) fn token_usage(usage: &ExactValue<'_>) -> Usage {
    Usage {
        input: count_at(usage, &["prompt_tokens"]),
        output: count_at(usage, &["completion_tokens"]),
        cached: count_at(usage, &["prompt_tokens_details", "cached_tokens"])
            .or_else(|| count_at(usage, &["prompt_cache_hit_tokens"])),
        cache_written: None,
        reasoning: count_at(usage, &["completion_tokens_details", "reasoning_tokens"]),
    }
}
