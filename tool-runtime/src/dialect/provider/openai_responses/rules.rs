//! The limits of requests and the supported schemas.

/// No published source; the maximum of chat completions.
pub(super) const MAX_TOOLS: usize = 128;
