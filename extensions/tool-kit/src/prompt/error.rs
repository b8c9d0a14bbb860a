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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_file_its_place_and_its_problem() {
        let plain = PromptError::new("no");
        let placed = plain.clone().with_place("é\nüb", 6);
        assert_eq!(placed.place, Some((2, 3)));
        for (error, expected) in [
            (plain.clone(), "no"),
            (plain.clone().in_file("a.md"), "a.md: no"),
            (placed.clone(), "2:3: no"),
            (placed.in_file("a.md"), "a.md:2:3: no"),
        ] {
            assert_eq!(error.to_string(), expected);
        }
        let places = [0, 2, 3, 99].map(|offset| plain.clone().with_place("é\nüb", offset).place);
        assert_eq!(places, [(1, 1), (1, 2), (2, 1), (2, 3)].map(Some));
    }
}
