//! Texts of an error for a model and for a log.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
};

use tool_schema::__private::messages::{beginning, grouped};

use super::{ErrorKind, ErrorParts, ToolError};
use crate::ToolName;

impl ToolError {
    /// Returns the text for a model: the message without the chain of sources.
    #[must_use]
    pub fn feedback(&self) -> String {
        if let Some(feedback) = &self.inner.feedback {
            return feedback.clone();
        }
        let message = self.message();
        let tool = &*shortened_text(self.tool().unwrap_or("?"), MAX_NAME_CHARS);
        match self.kind() {
            ErrorKind::Failed => message.into_owned(),
            ErrorKind::NotFound => message_or_default(message, "Not found"),
            ErrorKind::BadParameter => message_or_default(message, "Bad parameter"),
            ErrorKind::NotImplemented => message_or_default(message, "Not implemented"),
            ErrorKind::Conflict => message_or_default(message, "Conflict"),
            ErrorKind::Internal => message_or_default(message, "Internal error"),
            ErrorKind::UnknownTool => {
                let mut text = format!("Tool not found: {tool}");
                if !self.inner.suggestions.is_empty() {
                    text.push_str("\nDid you mean ");
                    text.push_str(&joined_alternatives(&self.inner.suggestions));
                    text.push('?');
                }
                text
            }
            ErrorKind::InvalidArguments => self.argument_feedback(&message),
            ErrorKind::Incomplete => with_prefix("Incomplete", &message) + ". Nothing was executed.",
            ErrorKind::Cancelled => "Cancelled".to_owned(),
            ErrorKind::Denied => with_prefix("Denied", &message),
            ErrorKind::ApprovalRequired => with_prefix("Approval required", &message),
            ErrorKind::Skipped => with_prefix("Skipped", &message),
            ErrorKind::Unavailable => with_prefix("Tool unavailable", &message),
            ErrorKind::TimedOut => with_prefix("Timed out", &message),
            ErrorKind::Panicked => with_prefix(&format!("The tool {tool} panicked"), &message),
            ErrorKind::InvalidOutput => with_prefix("Invalid output", &message),
            ErrorKind::OverBudget => with_prefix("Over budget", &message) + ". Nothing was executed.",
            ErrorKind::Stopped => with_prefix("Stopped", &message),
        }
    }

    /// Returns the reason without the prefix that [`feedback`](Self::feedback) adds.
    #[must_use]
    pub fn reason(&self) -> Cow<'_, str> {
        match &self.inner.feedback {
            Some(feedback) => Cow::Borrowed(feedback),
            // Its message is a note for the log.
            None if self.kind() == ErrorKind::UnknownTool => Cow::Borrowed(""),
            None => self.message(),
        }
    }

    /// Formats violations and example in at most 8 KiB: up to half for the violations, and the example if there is
    /// room.
    fn argument_feedback(&self, message: &str) -> String {
        const MAX_FEEDBACK_BYTES: usize = 8 * 1024;
        const EXAMPLE: &str = "\nArguments that fit, for example: ";
        const NOTHING_EXECUTED: &str = "\nNothing was executed.";
        const USUAL_BYTES: usize = 320;
        let example_length = self.inner.example.as_ref().map_or(0, |example| example.text().len());
        let arguments_length = self.inner.arguments.as_ref().map_or(0, String::len).min(2 * MAX_ECHOED_CHARS);
        // One allocation for nearly all texts.
        let room = USUAL_BYTES + example_length.min(MAX_FEEDBACK_BYTES) + arguments_length;
        let mut text = String::with_capacity(room);
        // Writing to a text never fails.
        let _ = match (self.violations(), self.report().total()) {
            ([], _) => {
                let message = shortened_text(message, MAX_FEEDBACK_BYTES / 8);
                write!(text, "{}", with_prefix("Invalid arguments", &message))
            }
            ([only], 1) => write!(text, "Invalid arguments: {only}"),
            _ => write!(text, "Invalid arguments:{}", self.report().lines(MAX_FEEDBACK_BYTES / 2)),
        };
        if let Some(arguments) = self.inner.arguments.as_ref().filter(|_| self.inner.echo) {
            text.push_str("\nReceived: ");
            text.push_str(&shortened_text(arguments, MAX_ECHOED_CHARS));
        }
        if let Some(example) = &self.inner.example {
            let example = example.text();
            if text.len() + EXAMPLE.len() + example.len() + NOTHING_EXECUTED.len() <= MAX_FEEDBACK_BYTES {
                text.push_str(EXAMPLE);
                text.push_str(example);
            } else {
                let length = grouped(example.len());
                text.push_str(&format!(
                    "\nAn example of arguments that fit is too long to be shown ({length} bytes)."
                ));
            }
        }
        text.push_str(NOTHING_EXECUTED);
        text
    }
}

/// Formats as `a`, `b` or `c`, in backticks.
fn joined_alternatives(names: &[ToolName]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => quoted.concat(),
    }
}

/// Returns the tool's message, or the default of the kind if it is empty.
fn message_or_default(message: Cow<'_, str>, default: &str) -> String {
    if message.is_empty() { default.to_owned() } else { message.into_owned() }
}

fn with_prefix(prefix: &str, message: &str) -> String {
    if message.is_empty() { prefix.to_owned() } else { format!("{prefix}: {message}") }
}

/// The maximum number of characters of the arguments that are repeated.
const MAX_ECHOED_CHARS: usize = 500;

/// The maximum number of characters of a tool name that are shown.
const MAX_NAME_CHARS: usize = 160;

/// Truncates to about `max_chars` characters and adds the length.
fn shortened_text(text: &str, max_chars: usize) -> Cow<'_, str> {
    match beginning(text, max_chars) {
        Some(start) => [start, &format!("… ({} bytes in all)", text.len())].concat().into(),
        None => text.into(),
    }
}

/// Formats the text for a log, without [`source`](std::error::Error::source).
impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tool() {
            // This error belongs to a run, not to a call.
            None if self.kind() == ErrorKind::OverBudget => {
                return write!(f, "the budget is used up: {}", self.inner.message);
            }
            Some(tool) => write!(f, "tool {:?} ", shortened_text(tool, MAX_NAME_CHARS))?,
            None => f.write_str("tool ")?,
        }
        f.write_str(match self.kind() {
            ErrorKind::UnknownTool => "not found",
            ErrorKind::InvalidArguments => "was given invalid arguments",
            ErrorKind::Incomplete => "was not called completely",
            ErrorKind::Denied => "was denied",
            ErrorKind::ApprovalRequired => "needs an approval",
            ErrorKind::Skipped => "was skipped",
            ErrorKind::Unavailable => "is not available",
            ErrorKind::Cancelled => "was cancelled",
            ErrorKind::TimedOut => "timed out",
            ErrorKind::Panicked => "panicked",
            ErrorKind::InvalidOutput => "gave an invalid output",
            ErrorKind::OverBudget => "was not called, since the budget of its run is used up",
            ErrorKind::Stopped => "stopped the run",
            ErrorKind::Failed => "failed",
            ErrorKind::NotFound => "did not find the requested item",
            ErrorKind::BadParameter => "was given an argument that it cannot use",
            ErrorKind::NotImplemented => "does not implement this",
            ErrorKind::Conflict => "found a conflict",
            ErrorKind::Internal => "has an internal error",
        })?;
        if !self.inner.message.is_empty() {
            write!(f, ": {}", self.inner.message)?;
        }
        match self.report().total() {
            0 => Ok(()),
            _ => write!(f, ": {}", self.report()),
        }
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ErrorParts { kind, tool, message, source, retryable, violations, .. } = &*self.inner;
        f.debug_struct("ToolError")
            .field("kind", kind)
            .field("tool", tool)
            .field("message", message)
            .field("source", source)
            .field("retryable", retryable)
            .field("violations", violations)
            .finish_non_exhaustive()
    }
}
