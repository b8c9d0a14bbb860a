//! The stop reasons, and the token counts.

use tool_core::internals::ExactValue;

use crate::dialect::{
    DialectError, Usage,
    error::JsonLocation,
    reading::ResponseReading,
    usage::{count_at, sum_of},
};

/// [Thoughts](https://ai.google.dev/api/generate-content#UsageMetadata) are not included in the candidates'
/// tokens.
pub(super) fn token_usage(usage: &ExactValue<'_>) -> Usage {
    let count = |name: &str| count_at(usage, &[name]);
    let reasoning = count("thoughtsTokenCount");
    Usage {
        input: sum_of(count("promptTokenCount"), [count("toolUsePromptTokenCount")]),
        output: sum_of(count("candidatesTokenCount").or(reasoning.map(|_| 0)), [reasoning]),
        cached: count("cachedContentTokenCount"),
        cache_written: None,
        reasoning,
    }
}

/// Records the [finish reason](https://ai.google.dev/api/generate-content#FinishReason) of a candidate; only
/// `STOP` means that all calls are complete. Returns `true` if there is one.
pub(super) fn read_stop(
    candidate: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<bool, DialectError> {
    let place = candidate.field("finishReason");
    let has_reason = reading.read_stop_reason(&place, &["STOP"]);
    // The response contains no other sign of this call.
    if let Some(reason @ "MALFORMED_FUNCTION_CALL") = place.as_text()
        && reading.partial_calls.last_index().is_none()
    {
        return Err(place.error_with("a call", reason));
    }
    Ok(has_reason)
}
