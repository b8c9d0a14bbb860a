//! Calls that a person has to decide on, where nobody can be asked.

use std::borrow::Cow;

use tool_core::{Confirmation, ErrorKind, Metadata, ToolError};

/// Whether a call stops at what a person has to decide.
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
            _ => "a confirmation",
        };
        let message =
            format!("the tool asks for {asks}; call it through an executor, or with `call_unguarded`");
        Err(ToolError::new(ErrorKind::ApprovalRequired, Cow::Owned(message)))
    }
}
