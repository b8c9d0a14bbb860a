//! Errors of scripts.

use std::{error::Error, fmt, io, sync::Arc};

/// A script that cannot be read, or that was not followed to its end.
#[derive(Debug, Clone)]
pub struct ScriptError {
    source_name: Arc<str>,
    line: Option<usize>,
    message: String,
}

impl ScriptError {
    pub(super) fn of_line(source_name: &Arc<str>, line: usize, message: String) -> Self {
        Self { source_name: Arc::clone(source_name), line: Some(line), message }
    }

    pub(super) fn of_reading(source_name: &Arc<str>, error: &io::Error) -> Self {
        let message = format!("the script cannot be read: {error}");
        Self { source_name: Arc::clone(source_name), line: None, message }
    }

    pub(super) fn of_unused_rest(source_name: &Arc<str>, line: Option<usize>, message: String) -> Self {
        Self { source_name: Arc::clone(source_name), line, message }
    }

    /// Returns the number of the line, from 1; `None` if the script cannot be read at all.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source_name, line, message } = self;
        match line {
            Some(line) => write!(f, "{source_name}, line {line}: {message}"),
            None => write!(f, "{source_name}: {message}"),
        }
    }
}

impl Error for ScriptError {}
