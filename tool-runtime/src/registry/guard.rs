//! Rejection of calls that need a decision, where there is no approver.

use std::borrow::Cow;

use tool_core::{Confirmation, ErrorKind, Metadata, ToolError};

/// Enables or disables the rejection of calls that need a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    On,
    Off,
}

impl Guard {
    pub(super) fn admits(self, metadata: &Metadata) -> Result<(), ToolError> {
        let asks = match (metadata.confirmation, metadata.permission) {
            _ if self == Self::Off => return Ok(()),
            (Confirmation::Never, false) => return Ok(()),
            (Confirmation::Never, true) => "a permission check",
            _ => "confirmation",
        };
        let message =
            format!("the tool requires {asks}; call it through an executor, or with `call_unguarded`");
        Err(ToolError::new(ErrorKind::ApprovalRequired, Cow::Owned(message)))
    }
}
