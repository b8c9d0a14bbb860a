//! What a dialect cannot say as it was said.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use tool_core::ToolDefinition;

use super::Dialect;
use crate::Registry;

/// How much of a tool is lost in a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// It is said in another way, or in words; a call is held to it all the same.
    Note,
    /// The provider is told less than the tool takes or wants, so that the model may not make some calls,
    /// or makes more that are refused.
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
    /// The [name](Dialect::name) of the dialect, or `all`.
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

/// Lists what every dialect changes in every tool or cannot carry, and which parameters are not described.
///
/// # Examples
///
/// ```
/// use tool_runtime::{dialect::{Severity, lint}, prelude::*};
///
/// /// Finds a line.
/// #[tool]
/// fn find(
///     /// What to look for.
///     #[schemars(length(min = 3))]
///     text: String,
/// ) -> String {
///     text
/// }
///
/// let tools = Registry::builder().tool::<find>().build()?;
/// let findings = lint(&tools);
/// assert!(findings.iter().all(|finding| finding.severity < Severity::Error));
/// let strict = findings.iter().find(|finding| finding.dialect == "openai-chat-strict").unwrap();
/// assert_eq!(
///     strict.to_string(),
///     "note: `find` in openai-chat-strict, at `/properties/text/minLength`: \
///      `minLength` is said in words; nothing has to be done, calls are checked",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn lint(registry: &Registry) -> Vec<Finding> {
    let mut findings: Vec<_> = registry.definitions().iter().flat_map(undescribed).collect();
    for dialect in Dialect::all() {
        findings.extend_from_slice(dialect.bind(registry).findings());
    }
    findings
}

/// Fails a test where a tool cannot be sent in every dialect; the message lists them.
///
/// # Panics
///
/// If [`lint`] finds an [error](Severity::Error).
///
/// # Examples
///
/// ```
/// # let registry = tool_runtime::Registry::builder().build()?;
/// tool_runtime::dialect::assert_portable(&registry);
/// # Ok::<(), tool_runtime::BuildError>(())
/// ```
#[track_caller]
pub fn assert_portable(registry: &Registry) {
    let errors = lint(registry).into_iter().filter(|finding| finding.severity == Severity::Error);
    let errors: Vec<_> = errors.map(|finding| finding.to_string()).collect();
    assert!(errors.is_empty(), "not every dialect can carry every tool:\n{}", errors.join("\n"));
}

/// The parameters of a tool that say nothing of themselves.
fn undescribed(definition: &ToolDefinition) -> Vec<Finding> {
    let properties = definition.input_schema().as_value().get("properties").and_then(Value::as_object);
    let silent = |property: &Value| {
        property.get("description").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty())
    };
    let properties = properties.into_iter().flatten().filter(|(_, property)| silent(property));
    let finding = |(name, _): (&String, _)| Finding {
        tool: definition.name().to_string(),
        dialect: "all",
        pointer: super::schema::below("/properties", name),
        severity: Severity::Warning,
        message: "the parameter has no description".to_owned(),
        remedy: "write a doc comment above it".to_owned(),
    };
    properties.map(finding).collect()
}
