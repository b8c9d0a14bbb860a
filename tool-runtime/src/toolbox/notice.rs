use std::fmt;

use tool_core::{ToolError, ToolName};

use crate::{policy::RuleProblem, registry::Problem};

/// The origin of a tool of a [`Snapshot`](crate::toolbox::Snapshot).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// It was added to the toolbox by itself.
    Direct,
    /// It was added as one of the framework, which is never hidden.
    Framework,
    /// It is of the set of this name.
    ToolSet(String),
    /// It was added for this run.
    Additional,
    /// It was declared for this run, and runs elsewhere.
    External,
}

impl Origin {
    /// Returns `true` for tools that [`Visibility`](crate::toolbox::Visibility) applies to.
    #[must_use]
    pub fn is_user_tool(&self) -> bool {
        matches!(self, Self::Direct | Self::ToolSet(_) | Self::Additional)
    }

    /// Returns `true` for tools of the toolbox, and not of the run.
    pub(super) fn is_of_toolbox(&self) -> bool {
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

/// Something that is not as it should be with the tools of a run, and did not keep it from having the
/// others.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Notice {
    /// A set could not list its tools; the run has those that it listed last for the same user.
    NotListed {
        /// The name of the set.
        toolset: String,
        /// The reason.
        error: ToolError,
        /// The number of tools that it listed last.
        listed_last: usize,
    },
    /// A tool was dropped, since its name is taken.
    Dropped {
        /// The name.
        name: ToolName,
        /// The origin of the tool that was dropped.
        origin: Origin,
        /// The origin of the tool that has the name.
        taken_by: Origin,
    },
    /// A tool is shown under the name of another one that is hidden: rules and other settings that name the hidden tool
    /// apply to the one that is shown.
    NameOfHidden {
        /// The name.
        name: ToolName,
        /// The origin of the tool that is shown.
        origin: Origin,
        /// The origin of the tool that is hidden.
        hidden: Origin,
    },
    /// A tool was dropped, since it cannot be used.
    Unusable {
        /// The origin of the tool.
        origin: Origin,
        /// The problem.
        problem: Problem,
    },
    /// A tool was hidden, since a [`Visibility`](crate::toolbox::Visibility) panicked over it.
    Hidden {
        /// The tool.
        name: ToolName,
        /// The message of the panic.
        message: String,
    },
    /// A rule of the executor does not do with the tools what it was written for.
    Rule(RuleProblem),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(problem) => problem.fmt(f),
            Self::NotListed { toolset, error, listed_last } => {
                let why = error.feedback();
                write!(
                    f,
                    "the set `{toolset}` could not list its tools, and is used with the {listed_last} it listed last: {why}"
                )
            }
            Self::Dropped { name, origin, taken_by } => {
                write!(f, "{origin} was dropped, since its name `{name}` is taken by {taken_by}")
            }
            Self::NameOfHidden { name, origin, hidden } => {
                write!(f, "{origin} is shown as `{name}`, which is also the name of {hidden} that is hidden")
            }
            Self::Unusable { origin, problem } => write!(f, "{origin} was dropped: {problem}"),
            Self::Hidden { name, message } => {
                write!(
                    f,
                    "the tool `{name}` was hidden, since its visibility could not be decided: {message}"
                )
            }
        }
    }
}
