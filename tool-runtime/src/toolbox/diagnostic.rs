use std::fmt;

use tool_core::{ToolError, ToolName};

use super::Origin;
use crate::{
    diagnostic::{Diagnostic, Location, Severity},
    policy::RuleDiagnostic,
    registry::BuildDiagnostic,
};

/// A diagnostic about the tools of a run, which has its other tools all the same.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RunDiagnostic {
    /// A set could not list its tools; the run has those that it listed last for the same user.
    NotListed {
        /// The name of the set.
        toolset: String,
        /// The error of the set.
        error: ToolError,
        /// The number of tools that it listed last.
        listed_last: usize,
    },
    /// A tool was dropped, because another tool has its name.
    Dropped {
        /// The name.
        name: ToolName,
        /// The origin of the dropped tool.
        origin: Origin,
        /// The origin of the tool that has the name.
        taken_by: Origin,
    },
    /// A shown tool has the name of a hidden one: rules and other settings that name the hidden tool apply to the shown
    /// one.
    NameOfHidden {
        /// The name.
        name: ToolName,
        /// The origin of the shown tool.
        origin: Origin,
        /// The origin of the hidden tool.
        hidden: Origin,
    },
    /// A tool was dropped, because it cannot be used.
    Unusable {
        /// The origin of the tool.
        origin: Origin,
        /// The reason.
        cause: BuildDiagnostic,
    },
    /// A tool was hidden, because a [`Visibility`](crate::toolbox::Visibility) panicked when it was applied to it.
    Hidden {
        /// The tool.
        name: ToolName,
        /// The message of the panic.
        message: String,
    },
    /// A rule of the executor matches no tool or no argument.
    Rule(RuleDiagnostic),
}

impl RunDiagnostic {
    /// Returns the stable code: the name of the variant in snake case, and for a [`Rule`](Self::Rule) its
    /// [own code](RuleDiagnostic::code).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotListed { .. } => "not_listed",
            Self::Dropped { .. } => "dropped",
            Self::NameOfHidden { .. } => "name_of_hidden",
            Self::Unusable { .. } => "unusable",
            Self::Hidden { .. } => "hidden",
            Self::Rule(rule) => rule.code(),
        }
    }
}

impl From<&RunDiagnostic> for Diagnostic {
    fn from(it: &RunDiagnostic) -> Self {
        let severity = match it {
            RunDiagnostic::Rule(rule) => return rule.into(),
            RunDiagnostic::Unusable { cause, .. } => {
                let cause = Self::from(cause);
                return Self { code: it.code(), message: it.message(), ..cause };
            }
            RunDiagnostic::Dropped { .. } | RunDiagnostic::Hidden { .. } => Severity::Error,
            RunDiagnostic::NotListed { .. } | RunDiagnostic::NameOfHidden { .. } => Severity::Warning,
        };
        let tool = match it {
            RunDiagnostic::Dropped { name, .. }
            | RunDiagnostic::NameOfHidden { name, .. }
            | RunDiagnostic::Hidden { name, .. } => Some(name.to_string()),
            _ => None,
        };
        let location = Location { tool, ..Location::default() };
        Self { location, severity, code: it.code(), message: it.message(), help: None }
    }
}

impl RunDiagnostic {
    fn message(&self) -> String {
        match self {
            Self::Rule(rule) => rule.to_string(),
            Self::NotListed { toolset, error, listed_last } => format!(
                "the set `{toolset}` could not list its tools, and is used with the {listed_last} it listed last: {}",
                error.feedback()
            ),
            Self::Dropped { name, origin, taken_by } => {
                format!("{origin} was dropped, since its name `{name}` is taken by {taken_by}")
            }
            Self::NameOfHidden { name, origin, hidden } => {
                format!("{origin} is shown as `{name}`, which is also the name of {hidden} that is hidden")
            }
            Self::Unusable { origin, cause } => format!("{origin} was dropped: {}", cause.message()),
            Self::Hidden { name, message } => {
                format!("the tool `{name}` was hidden, since its visibility could not be decided: {message}")
            }
        }
    }
}

/// The message, and the help if there is one.
impl fmt::Display for RunDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable { origin, cause } => write!(f, "{origin} was dropped: {cause}"),
            _ => f.write_str(&self.message()),
        }
    }
}
