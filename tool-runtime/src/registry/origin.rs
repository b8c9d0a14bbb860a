//! The origin of a tool.

use std::fmt;

/// The origin of a tool of a [`Snapshot`](crate::toolbox::Snapshot).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// Added to the toolbox as a single tool.
    Direct,
    /// Added to the toolbox as a tool of the framework, which is never hidden.
    Framework,
    /// Listed by the set of this name.
    ToolSet(String),
    /// Added for this run.
    Additional,
    /// Declared for this run; its calls are left to the caller.
    External,
}

impl Origin {
    /// Returns `true` if [`Visibility`](crate::toolbox::Visibility) applies to the tool.
    #[must_use]
    pub fn is_user_tool(&self) -> bool {
        matches!(self, Self::Direct | Self::ToolSet(_) | Self::Additional)
    }

    /// Returns `true` if the tool is of the toolbox, and not of the run.
    pub(crate) fn is_of_toolbox(&self) -> bool {
        matches!(self, Self::Direct | Self::Framework | Self::ToolSet(_))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("a direct tool"),
            Self::Framework => f.write_str("a tool of the framework"),
            Self::ToolSet(name) => write!(f, "a tool of the set `{name}`"),
            Self::Additional => f.write_str("an additional tool of the run"),
            Self::External => f.write_str("an external tool of the run"),
        }
    }
}
