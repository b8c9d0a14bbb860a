//! The stop reasons, and the token counts.

use tool_core::internals::ExactValue;

use crate::dialect::{Usage, error::JsonLocation, reading::ResponseReading, usage::count_at};

/// The status after which all calls are complete.
pub(super) const FINISHED: &[&str] = &["completed"];

/// Records the end of a response by its
/// [status](https://platform.openai.com/docs/api-reference/responses/object#responses/object-status).
pub(super) fn read_stop(
    response: &JsonLocation<'_>,
    status: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) {
    if status.has_text("incomplete") {
        let reason = response.field("incomplete_details").field("reason");
        let reason = reason.as_text().filter(|it| !it.is_empty());
        reading.set_stop_reason(reason.or(status.as_text()), &[]);
    } else {
        reading.read_stop_reason(status, FINISHED);
    }
}

pub(super) fn token_usage(usage: &ExactValue<'_>) -> Usage {
    Usage {
        input: count_at(usage, &["input_tokens"]),
        output: count_at(usage, &["output_tokens"]),
        cached: count_at(usage, &["input_tokens_details", "cached_tokens"]),
        cache_written: count_at(usage, &["input_tokens_details", "cache_write_tokens"]),
        reasoning: count_at(usage, &["output_tokens_details", "reasoning_tokens"]),
    }
}
