//! What could be better about the tools of a registry, before a model finds out.
//!
//! A rule finds nothing in a tool that is well written: what a reader would wave through trains them to
//! wave all through.

mod descriptions;
mod hints;
mod parameters;
mod retries;
mod similar;
mod words;

use tool_core::ToolDefinition;

use super::{Dialect, Finding, Severity};
use crate::Registry;

/// Lists what every dialect changes in every tool or cannot carry, and what a model may not understand.
///
/// | in `all` dialects | severity |
/// | --- | --- |
/// | a parameter, or a field or an item within one, without a description | warning |
/// | a tool without a description, or with one of a single word, or of no more than its name | warning |
/// | a description of more than 4,000 characters, or of more than 1,000 of a parameter | warning |
/// | a description that is that of another tool, or nearly; a name of the same words | warning |
/// | a tool whose name says that it destroys something, and that has no hint | warning |
/// | a tool with `retry`, without `when`, whose error is neither `ToolError` nor `std::io::Error` | warning |
/// | any other tool that does not say whether it changes anything | note |
///
/// What is found in one dialect stands at [`Dialect`] and its methods; the most that the definitions should
/// come to, at [`BoundTools::estimated_tokens`](super::BoundTools::estimated_tokens). No provider publishes a limit for the length of
/// the texts and lists that are arguments; what has none is therefore not found.
///
/// # Examples
///
/// ```
/// use tool_runtime::{dialect::{Severity, lint}, prelude::*};
///
/// /// Finds a line.
/// #[tool(read_only)]
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
/// assert!(findings.iter().all(|finding| finding.severity == Severity::Note));
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
    let mut findings = Vec::new();
    for (definition, entry) in registry.definitions().iter().zip(registry.entries()) {
        let mut found = Found { of: definition, findings: &mut findings };
        descriptions::check(&mut found);
        parameters::check(&mut found);
        hints::check(&mut found);
        retries::check(&mut found, &**entry.tool());
    }
    similar::check(registry.definitions(), &mut findings);
    for dialect in Dialect::all() {
        findings.extend_from_slice(dialect.bind_tools(registry).findings());
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
/// # Ok::<(), tool_runtime::registry::BuildError>(())
/// ```
#[track_caller]
pub fn assert_portable(registry: &Registry) {
    let errors = lint(registry).into_iter().filter(|finding| finding.severity == Severity::Error);
    let errors: Vec<_> = errors.map(|finding| finding.to_string()).collect();
    assert!(errors.is_empty(), "not every dialect can carry every tool:\n{}", errors.join("\n"));
}

/// What is found in one tool.
struct Found<'f> {
    of: &'f ToolDefinition,
    findings: &'f mut Vec<Finding>,
}

impl Found<'_> {
    fn push(&mut self, severity: Severity, at: &str, message: impl Into<String>, remedy: &str) {
        self.findings.push(Finding {
            tool: self.of.name().to_string(),
            dialect: "all",
            pointer: at.to_owned(),
            severity,
            message: message.into(),
            remedy: remedy.to_owned(),
        });
    }
}
