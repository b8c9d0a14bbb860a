//! The stop reasons, and the token counts.

use tool_core::__private::ExactValue;

use crate::dialect::{Usage, error::At, reading::Reading, usage::counted};

/// The status after which all calls are complete.
pub(super) const FINISHED: &[&str] = &["completed"];

/// Records the end of a response by its
/// [status](https://platform.openai.com/docs/api-reference/responses/object#responses/object-status).
pub(super) fn stop(response: &At<'_>, status: &At<'_>, reading: &mut Reading) {
    if status.is("incomplete") {
        let reason = response.field("incomplete_details").field("reason");
        let reason = reason.as_text().filter(|it| !it.is_empty());
        reading.stop(reason.or(status.as_text()), &[]);
    } else {
        reading.stop_at(status, FINISHED);
    }
}

pub(super) fn usage(usage: &ExactValue<'_>) -> Usage {
    Usage {
        input: counted(usage, &["input_tokens"]),
        output: counted(usage, &["output_tokens"]),
        cached: counted(usage, &["input_tokens_details", "cached_tokens"]),
        cache_written: counted(usage, &["input_tokens_details", "cache_write_tokens"]),
        reasoning: counted(usage, &["output_tokens_details", "reasoning_tokens"]),
    }
}
