//! Tools with `retry` whose errors are never retryable.

use tool_core::Tool;

use super::ToolFindings;
use crate::{diagnostic::Severity, registry::RETRY_WITHOUT_WHEN};

/// Only errors that are known to be temporary are retried; an error that is only displayed carries no such information.
pub(super) fn check_retries(found: &mut ToolFindings<'_>, tool: &dyn Tool) {
    if tool.retries_blindly() {
        let (code, message, help) = RETRY_WITHOUT_WHEN;
        found.push(Severity::Warning, code, "", message, help);
    }
}
