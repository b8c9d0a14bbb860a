//! Checks of the definitions of a registry.
//!
//! A well-written tool has no diagnostics: false ones train readers to ignore them all.

mod descriptions;
mod hints;
mod parameters;
mod retries;
mod similar;
mod words;

use tool_core::ToolDefinition;

use super::Dialect;
use crate::{
    Registry,
    diagnostic::{Diagnostic, Location, Severity},
};

/// Returns all changes and unsupported parts of every tool in every dialect, and definitions that a model may
/// misunderstand.
///
/// | in `all` dialects | severity |
/// | --- | --- |
/// | a parameter, or a field or an item within one, without a description | warning |
/// | a tool without a description, or whose description is a single word or repeats its name | warning |
/// | a description of more than 4,000 characters, or of more than 1,000 for a parameter | warning |
/// | a description equal or nearly equal to another tool's; a name of the same words | warning |
/// | a tool with the name of a destructive action and without hints | warning |
/// | a tool with `retry`, without `when`, whose error is neither `ToolError` nor `std::io::Error` | warning |
/// | any other tool without a hint about its effects | note |
///
/// Findings of a single dialect are described at [`Dialect`] and its methods; the limit for the size of all
/// definitions at [`BoundTools::estimated_tokens`](super::BoundTools::estimated_tokens). No provider publishes
/// a limit for the length of texts and lists in arguments, so unbounded ones are not reported.
///
/// # Examples
///
/// ```
/// use tool_runtime::{diagnostic::Severity, dialect::lint, prelude::*};
///
/// /// Finds a line.
/// #[tool(read_only)]
/// fn find(
///     /// Text to find.
///     #[schemars(length(min = 3))]
///     text: String,
/// ) -> String {
///     text
/// }
///
/// let tools = Registry::builder().tool::<find>().build()?;
/// let diagnostics = lint(&tools);
/// assert!(diagnostics.iter().all(|it| it.severity == Severity::Note));
/// let strict = diagnostics.iter().find(|it| it.location.dialect == Some("openai-chat-strict")).unwrap();
/// assert_eq!(
///     strict.to_string(),
///     "note: `find` in openai-chat-strict, at `/properties/text/minLength`: \
///      `minLength` is moved into the description; no action needed: calls are validated",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn lint(registry: &Registry) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for (definition, entry) in registry.all_definitions().iter().zip(registry.entries()) {
        let mut found = ToolFindings { of: definition, diagnostics: &mut diagnostics };
        descriptions::check_description(&mut found);
        parameters::check_parameters(&mut found);
        hints::check_hints(&mut found);
        retries::check_retries(&mut found, &**entry.tool());
    }
    similar::check_similar_tools(registry.all_definitions(), &mut diagnostics);
    for dialect in Dialect::all() {
        diagnostics.extend_from_slice(dialect.bind_tools(registry).diagnostics());
    }
    diagnostics
}

/// Asserts that every tool can be sent in every dialect; the panic message lists the errors.
///
/// # Panics
///
/// Panics if [`lint`] finds an [error](Severity::Error).
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
    let errors = lint(registry).into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let errors: Vec<_> = errors.map(|diagnostic| diagnostic.to_string()).collect();
    assert!(errors.is_empty(), "some tools cannot be sent in every dialect:\n{}", errors.join("\n"));
}

/// The diagnostics of one tool.
struct ToolFindings<'f> {
    of: &'f ToolDefinition,
    diagnostics: &'f mut Vec<Diagnostic>,
}

impl ToolFindings<'_> {
    fn push(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: &str,
        message: impl Into<String>,
        help: &str,
    ) {
        self.diagnostics.push(Diagnostic {
            location: Location {
                tool: Some(self.of.name().to_string()),
                dialect: Some("all"),
                pointer: at.to_owned(),
                source: None,
            },
            severity,
            code,
            message: message.into(),
            help: Some(help.to_owned()),
        });
    }
}
