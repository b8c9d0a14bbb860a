//! The error of a prompt.

use std::{error::Error, fmt, path::PathBuf};

use tool_runtime::{ErrorKind, ToolError};

/// A problem of a prompt: of a file with its path, and if it has a place with line and column, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptError {
    /// The file.
    pub file: Option<PathBuf>,
    /// Line and column.
    pub place: Option<(usize, usize)>,
    /// The problem, and what to do.
    pub problem: String,
}

impl PromptError {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self { file: None, place: None, problem: problem.into() }
    }

    /// Returns the error with the place of an offset in `text`.
    pub(crate) fn with_place(mut self, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[line_start..].chars().count() + 1;
        self.place = Some((before.matches('\n').count() + 1, column));
        self
    }

    pub(crate) fn in_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Returns the error of a prompt that cannot be rendered.
    pub(crate) fn into_tool_error(self, prompt: &str) -> ToolError {
        ToolError::new(ErrorKind::BadParameter, format!("the prompt `{prompt}` cannot be rendered: {self}"))
    }
}

impl fmt::Display for PromptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
        }
        if let Some((line, column)) = self.place {
            let separator = if self.file.is_some() { ":" } else { "" };
            write!(f, "{separator}{line}:{column}")?;
        }
        if self.file.is_some() || self.place.is_some() {
            f.write_str(": ")?;
        }
        f.write_str(&self.problem)
    }
}

impl Error for PromptError {}
