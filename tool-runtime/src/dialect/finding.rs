//! What a dialect cannot say as it was said.

use std::fmt;

use serde::Serialize;

/// How much of a tool is lost in a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// It is said in another way, or in words, or left open; a call is held to it all the same.
    Note,
    /// The model is told less than the tool takes or wants, or not what sets it apart from others, so that it
    /// may not make some calls, or makes more that are refused.
    Warning,
    /// The tool cannot be sent: it is left out.
    Error,
}

/// What became of one part of a tool in a dialect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The name of the tool.
    pub tool: String,
    /// The [name](super::Dialect::name) of the dialect, or `all`.
    pub dialect: &'static str,
    /// Where in the input schema, as a JSON pointer.
    pub pointer: String,
    /// How much is lost.
    pub severity: Severity,
    /// What became of it.
    pub message: String,
    /// What can be done about it.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, dialect, pointer, severity, message, remedy } = self;
        let severity = format!("{severity:?}").to_lowercase();
        write!(f, "{severity}: `{tool}` in {dialect}, at `{pointer}`: {message}; {remedy}")
    }
}
