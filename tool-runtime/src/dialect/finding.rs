//! Findings: parts of a definition that a dialect changes or cannot express.

use std::fmt;

use serde::Serialize;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// The part is expressed in another way, moved into a description, or left open; calls are still validated against it.
    Note,
    /// The model sees less than the tool accepts or requires, or cannot distinguish the tool from others: it may miss
    /// some calls, or make more that are refused.
    Warning,
    /// The tool cannot be sent, and is left out.
    Error,
}

/// A change to one part of a tool in a dialect, or a part that the dialect cannot express.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The name of the tool.
    pub tool: String,
    /// The [name](super::Dialect::name) of the dialect, or `all`.
    pub dialect: &'static str,
    /// The place in the input schema, as a JSON pointer.
    pub pointer: String,
    /// The severity.
    pub severity: Severity,
    /// The change.
    pub message: String,
    /// The suggested fix.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, dialect, pointer, severity, message, remedy } = self;
        let severity = format!("{severity:?}").to_lowercase();
        write!(f, "{severity}: `{tool}` in {dialect}, at `{pointer}`: {message}; {remedy}")
    }
}
