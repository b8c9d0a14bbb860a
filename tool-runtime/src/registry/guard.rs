//! Rejection of calls that need a decision, where there is no approver.

use tool_core::{Confirmation, ErrorKind, Metadata, ToolError};

/// Enables or disables the rejection of calls that need a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecisionGuard {
    On,
    Off,
}

impl DecisionGuard {
    /// Returns an error for tools that need a decision. Its text for the log names the Rust API; the text for the model
    /// does not.
    #[inline]
    pub(super) fn check(self, metadata: &Metadata) -> Result<(), ToolError> {
        match (self, metadata.confirmation, metadata.permission) {
            (Self::Off, ..) | (Self::On, Confirmation::Never, false) => Ok(()),
            _ => Self::refusal(metadata),
        }
    }

    #[cold]
    fn refusal(metadata: &Metadata) -> Result<(), ToolError> {
        let (needs, decision) = match (metadata.confirmation, metadata.permission) {
            (Confirmation::Never, _) => ("a permission check", "checked"),
            _ => ("confirmation", "confirmed"),
        };
        let message =
            format!("the tool requires {needs}; call it through an executor, or with `call_unguarded`");
        let feedback = format!(
            "Approval required: the tool requires {needs}, and its calls cannot be {decision} here. Nothing was executed; \
             do not repeat the call."
        );
        Err(ToolError::new(ErrorKind::ApprovalRequired, message).with_feedback(feedback))
    }
}
