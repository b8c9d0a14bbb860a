//! The errors of skills.

use std::{error::Error, fmt};

use tool_runtime::{ErrorKind, ToolError, policy::Escape};

/// The maximum number of characters of a name or path in a message.
const MAX_SHOWN_CHARS: usize = 200;

/// An error of a skill, or of a store of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkillError {
    /// There is no skill of this name.
    UnknownSkill {
        /// The name.
        name: String,
    },
    /// The skill has no file at this path.
    UnknownFile {
        /// The name of the skill.
        skill: String,
        /// The path.
        path: String,
    },
    /// A skill, a name or a path is not valid.
    Invalid {
        /// The problem, and what to do.
        problem: String,
    },
    /// The store failed.
    Failed {
        /// The reason.
        message: String,
    },
}

impl SkillError {
    pub(super) fn invalid(problem: impl Into<String>) -> Self {
        Self::Invalid { problem: problem.into() }
    }

    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into() }
    }

    /// Returns the error of a call. A model reads what is wrong with its arguments, and of a failed store only that it failed.
    pub(crate) fn into_tool_error(self) -> ToolError {
        match self {
            Self::Failed { .. } => ToolError::new(ErrorKind::Unavailable, self.to_string())
                .with_feedback("The skills are not available at present."),
            _ => ToolError::failed(self.to_string()),
        }
    }
}

/// Returns foreign text in one short line.
pub(super) fn short_line(text: &str) -> String {
    Escape::LINE.at_most(MAX_SHOWN_CHARS).text(text)
}

impl fmt::Display for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownSkill { name } => {
                write!(f, "there is no skill `{}`; call `skill_list` for the names", short_line(name))
            }
            Self::UnknownFile { skill, path } => {
                let (skill, path) = (short_line(skill), short_line(path));
                write!(f, "the skill `{skill}` has no file `{path}`; give a path that `skill_load` returned")
            }
            Self::Invalid { problem } => f.write_str(problem),
            Self::Failed { message } => write!(f, "the skills failed: {message}"),
        }
    }
}

impl Error for SkillError {}
