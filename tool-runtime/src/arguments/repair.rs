//! The tools that may run on repaired arguments.

use tool_schema::RepairOutcome;

/// The tools that may run on repaired arguments.
///
/// # Examples
///
/// ```
/// use tool_runtime::schema::{Repair, recover};
///
/// let repaired = recover("{city: 'Oslo'}");
/// assert!(!Repair::Off.permits(true, &repaired));
/// assert!(Repair::ReadOnlyTools.permits(true, &repaired));
/// assert!(!Repair::ReadOnlyTools.permits(false, &repaired));
/// assert!(Repair::AllTools.permits(false, &repaired));
///
/// let cut_off = recover(r#"{"city":"Os"#);
/// assert!(!Repair::AllTools.permits(true, &cut_off));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Repair {
    /// None: invalid JSON is an error.
    #[default]
    Off,
    /// Tools with `read_only = true`.
    ReadOnlyTools,
    /// All tools.
    AllTools,
}

impl Repair {
    /// Returns `true` if a tool may run on recovered arguments.
    ///
    /// No tool runs on text that was cut off, not even a `read_only` tool: properties may be missing, and the
    /// last one may be incomplete.
    #[must_use]
    pub fn permits(self, read_only: bool, recovery: &RepairOutcome<'_>) -> bool {
        match (recovery, self) {
            (RepairOutcome::Strict(_), _) => true,
            (RepairOutcome::Invalid { .. } | RepairOutcome::Partial { .. }, _) | (_, Self::Off) => false,
            (RepairOutcome::Repaired { .. }, Self::AllTools) => true,
            (RepairOutcome::Repaired { .. }, _) => read_only,
            // Another outcome is none that a tool may run on.
            _ => false,
        }
    }
}
