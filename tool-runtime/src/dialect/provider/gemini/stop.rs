//! The stop reasons, and the token counts.

use tool_core::__private::ExactValue;

use crate::dialect::{
    DialectError, Usage,
    error::At,
    reading::Reading,
    usage::{counted, sum},
};

/// [Thoughts](https://ai.google.dev/api/generate-content#UsageMetadata) are not included in the candidates'
/// tokens.
pub(super) fn usage(usage: &ExactValue<'_>) -> Usage {
    let count = |name: &str| counted(usage, &[name]);
    let reasoning = count("thoughtsTokenCount");
    Usage {
        input: sum(count("promptTokenCount"), [count("toolUsePromptTokenCount")]),
        output: sum(count("candidatesTokenCount").or(reasoning.map(|_| 0)), [reasoning]),
        cached: count("cachedContentTokenCount"),
        cache_written: None,
        reasoning,
    }
}

/// Records the [finish reason](https://ai.google.dev/api/generate-content#FinishReason) of a candidate; only
/// `STOP` means that all calls are complete. Returns `true` if there is one.
pub(super) fn stop(candidate: &At<'_>, reading: &mut Reading) -> Result<bool, DialectError> {
    let place = candidate.field("finishReason");
    let has_reason = reading.stop_at(&place, &["STOP"]);
    // The response contains no other sign of this call.
    if let Some(reason @ "MALFORMED_FUNCTION_CALL") = place.as_text()
        && reading.slots.last().is_none()
    {
        return Err(place.error_with("a call", reason));
    }
    Ok(has_reason)
}
