//! Diagnostics: errors, warnings and notes about tools, rules and dialects.
//!
//! | listed by | type | about |
//! | --- | --- | --- |
//! | [`BuildError::diagnostics`](crate::registry::BuildError::diagnostics) | [`BuildDiagnostic`](crate::registry::BuildDiagnostic) | tools that cannot be used; no registry is built |
//! | [`Registry::diagnostics`](crate::Registry::diagnostics) | [`Diagnostic`] | the registry as it was built |
//! | [`Snapshot::diagnostics`](crate::toolbox::Snapshot::diagnostics), [`Executor::diagnostics`](crate::Executor::diagnostics) | [`RunDiagnostic`](crate::toolbox::RunDiagnostic) | the tools of a run, and rules that do not apply to them |
//! | [`Rules::diagnostics`](crate::policy::Rules::diagnostics) | [`RuleDiagnostic`](crate::policy::RuleDiagnostic) | rules that match no tool or no argument |
//! | [`BoundTools::diagnostics`](crate::dialect::BoundTools::diagnostics) | [`Diagnostic`] | the definitions in one dialect |
//! | [`AssembledResponse::diagnostics`](crate::dialect::AssembledResponse::diagnostics) | [`Diagnostic`] | the parts of one response |
//! | [`lint`](crate::dialect::lint()) | [`Diagnostic`] | the definitions in every dialect, and their descriptions and hints |
//!
//! The enums are for programs that match on a kind. A reference to any of them converts into a [`Diagnostic`], with
//! the same code.
//!
//! # Codes
//!
//! Each diagnostic has a code. Codes are stable: a message may be reworded, and keeps its code. The code of an enum's
//! variant is its name in snake case. The other codes:
//!
//! | code | severity | diagnostic |
//! | --- | --- | --- |
//! | `missing_description` | warning | a tool has no description |
//! | `panic_abort` | warning | the program is built with `panic = "abort"` |
//! | `nothing_discovered` | warning | `RegistryBuilder::discover` found no tools in the program |
//! | `undescriptive_description` | warning | the description only repeats the name, or is a single word |
//! | `long_description` | warning | the description has more than 4,000 characters |
//! | `missing_parameter_description` | warning | a parameter, or a field within one, has no description |
//! | `long_parameter_description` | warning | the description of a parameter has more than 1,000 characters |
//! | `similar_name` | warning | two names consist of the same words |
//! | `similar_description` | warning | two descriptions are equal, or nearly equal |
//! | `missing_destructive_hint` | warning | the name of a tool without hints suggests a destructive operation |
//! | `missing_hint` | note | a tool has neither `read_only` nor `destructive` |
//! | `retry_without_when` | warning | `retry` has no effect, since the errors are texts |
//! | `not_sent` | error | the dialect cannot express the tool, which is left out |
//! | `not_strict` | warning | the tool is sent without `strict` |
//! | `renamed` | note | the tool has another name on the wire |
//! | `description_limit` | warning | the provider rejects descriptions of this length for some models |
//! | `too_many_tools` | warning | the provider rejects requests with this number of tools |
//! | `many_tokens` | warning | the definitions have more than 10,000 tokens in all |
//! | `wrapped_arguments` | note | the arguments are sent as one object in a property |
//! | `root_reference` | warning | a reference to the whole schema is sent as an object |
//! | `keyword_described` | note | a keyword is moved into the description |
//! | `keyword_replaced` | note | a keyword is sent as another one |
//! | `tuple_as_list` | note | a tuple is sent as a list |
//! | `assumed_type` | note | a schema without a type is sent with one |
//! | `nullable_property` | note | an optional property for which `null` is a value cannot be omitted |
//! | `property_name` | warning | the provider does not promise to accept the name of a property |
//! | `required_recursion` | warning | a required property is recursive, which the provider accepts in optional ones only |
//! | `recursion_depth` | warning | a recursive schema is sent to a limited depth |
//! | `additional_properties` | warning | properties that are not named cannot be sent |
//! | `unreadable_part` | warning | a part of a response cannot be read, and is left out |
//! | `contradictory_call` | warning | the parts of a call contradict each other, and it does not run |
//! | `duplicate_call_id` | note | two calls of a response have one id, and the second one has another |
//! | `unknown_required` | warning | `required` names a property that does not exist |

use std::fmt;

use serde::{Serialize, Serializer};
use tool_core::SourceLocation;

/// The severity of a [`Diagnostic`], in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Nothing has to be done: a definition is sent in another form, and calls are validated against the original.
    Note,
    /// A tool or rule works, but probably not as intended. A model may omit valid calls, or make invalid ones.
    Warning,
    /// A tool or rule cannot be used. Nothing is built, or the tool is left out.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// The tool, dialect and place that a [`Diagnostic`] is about, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Location {
    /// The name of the tool; of several, the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The [name](crate::Dialect::name) of the dialect, or `all` for a diagnostic that does not depend on one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<&'static str>,
    /// A JSON pointer into the input schema; empty for the tool as a whole.
    pub pointer: String,
    /// The source location of the tool. As JSON, `file:line`.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub source: Option<SourceLocation>,
}

#[expect(clippy::ref_option, reason = "the signature that `serialize_with` requires")]
fn as_text<S: Serializer>(source: &Option<SourceLocation>, serializer: S) -> Result<S::Ok, S::Error> {
    match source {
        Some(source) => serializer.collect_str(source),
        None => serializer.serialize_none(),
    }
}

/// An error, a warning or a note about a tool, a rule or a program. [`diagnostic`](self) lists the codes.
///
/// As JSON, the members of `location` stand beside those of the diagnostic, and `help` is `remedy`. `Display` writes
/// severity, message and help, and for a diagnostic of a dialect its location.
///
/// # Examples
///
/// ```
/// use tool_runtime::{diagnostic::Severity, prelude::*};
///
/// #[tool_args]
/// struct Empty {}
///
/// let ping = ToolBuilder::new("ping").handler(|_: Empty, _cx| async { Ok::<_, ToolError>("pong") })?;
/// let tools = Registry::builder().add(ping).build()?;
/// let diagnostic = &tools.diagnostics()[0];
/// assert_eq!((diagnostic.severity, diagnostic.code), (Severity::Warning, "missing_description"));
/// assert_eq!(diagnostic.location.tool.as_deref(), Some("ping"));
/// assert_eq!(
///     diagnostic.to_string(),
///     "warning: tool `ping` has no description; say what it does, and when to call it",
/// );
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The tool, dialect and place.
    #[serde(flatten)]
    pub location: Location,
    /// The severity.
    pub severity: Severity,
    /// The stable code, in snake case.
    pub code: &'static str,
    /// The problem.
    pub message: String,
    /// The solution, if there is a known one.
    #[serde(rename = "remedy", skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Diagnostic {
    /// Creates a diagnostic without location and help, for an extension with codes of its own.
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self { location: Location::default(), severity, code, message: message.into(), help: None }
    }

    /// Sets the name of the tool.
    #[must_use]
    pub fn of_tool(mut self, tool: impl Into<String>) -> Self {
        self.location.tool = Some(tool.into());
        self
    }

    /// Sets the solution.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.severity)?;
        if let Location { tool: Some(tool), dialect: Some(dialect), pointer, .. } = &self.location {
            write!(f, "`{tool}` in {dialect}, at `{pointer}`: ")?;
        }
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}
