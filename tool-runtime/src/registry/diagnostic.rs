use std::{error::Error, fmt, sync::Arc};

use tool_core::{SourceLocation, ToolDefinition};

use super::{Entry, OUTPUT_TOOL, Origin};
use crate::diagnostic::{Diagnostic, Location, Severity};

/// An error in tools, because of which no registry or snapshot is built.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildDiagnostic {
    /// Several tools of a registry have one name.
    Duplicate {
        /// The name.
        name: String,
        /// The source location of each, if it is known.
        sites: Vec<Option<SourceLocation>>,
    },
    /// A tool requires an injected value that the program does not provide.
    NotProvided {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The type of the value.
        type_name: &'static str,
        /// `true` if the program provides an `Arc` of that type by `provide`, in place of `provide_shared`.
        is_in_arc: bool,
        /// The types of the values that the program provides.
        provided: Arc<Vec<&'static str>>,
    },
    /// Two values of one type were provided.
    ProvidedTwice {
        /// The type.
        type_name: &'static str,
    },
    /// A schema of a tool cannot be used.
    Schema {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The reason.
        message: String,
    },
    /// An example of a tool is not valid by its schema.
    Example {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The reason.
        message: String,
    },
    /// The default of a parameter is not valid by its schema: a call with it would be rejected.
    DefaultValue {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The reason.
        message: String,
    },
    /// The metadata of a tool requires a check before its calls, which the tool does not [implement](tool_core::Tool::checks).
    MissingCheck {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The check.
        check: Check,
    },
    /// A tool panicked when it was built: in its schemas, defaults, examples or labels.
    Panicked {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The message of the panic.
        message: String,
    },
    /// An expected tool is missing.
    NotLinked {
        /// The name.
        name: String,
        /// The most similar name of a tool that is there.
        similar: Option<String>,
    },
    /// Tools with different names in other programs have one name here; see
    /// [`ToolName::from_foreign`](tool_core::ToolName::from_foreign).
    ForeignClash {
        /// The name.
        name: String,
        /// The raw names of the tools.
        raw_names: Vec<String>,
    },
    /// A tool replaces one that does not exist.
    NotReplaced {
        /// The name.
        name: String,
    },
    /// Several tools of a [`Toolbox`](crate::Toolbox) have one name.
    SameName {
        /// The name.
        name: String,
        /// The origin of each.
        origins: Vec<Origin>,
    },
    /// A tool that is not the output tool has its [reserved name](crate::registry::OUTPUT_TOOL).
    ReservedName {
        /// The name.
        name: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
    },
    /// The output tool has another name than [`OUTPUT_TOOL`](crate::registry::OUTPUT_TOOL).
    OutputToolName {
        /// Its name.
        name: String,
    },
    /// A set, or the set that a tool names as its own, has a [reserved](crate::registry::RESERVED_SETS) name.
    ReservedSet {
        /// The name of the set.
        toolset: String,
        /// The tool that names the set as its own; `None` for a set that was added.
        tool: Option<String>,
    },
    /// A set could not list its tools.
    NotListed {
        /// The name of the set.
        toolset: String,
        /// The message of the error.
        message: String,
    },
}

impl BuildDiagnostic {
    /// The panic of a tool whose name is not known yet.
    pub(crate) fn of_unnamed_tool(message: String) -> Self {
        Self::Panicked { tool: NAMELESS.to_owned(), site: None, message }
    }

    /// Returns the stable code: the name of the variant in snake case.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Duplicate { .. } => "duplicate",
            Self::NotProvided { .. } => "not_provided",
            Self::ProvidedTwice { .. } => "provided_twice",
            Self::Schema { .. } => "schema",
            Self::Example { .. } => "example",
            Self::DefaultValue { .. } => "default_value",
            Self::MissingCheck { .. } => "missing_check",
            Self::Panicked { .. } => "panicked",
            Self::NotLinked { .. } => "not_linked",
            Self::ForeignClash { .. } => "foreign_clash",
            Self::NotReplaced { .. } => "not_replaced",
            Self::SameName { .. } => "same_name",
            Self::ReservedName { .. } => "reserved_name",
            Self::OutputToolName { .. } => "output_tool_name",
            Self::ReservedSet { .. } => "reserved_set",
            Self::NotListed { .. } => "not_listed",
        }
    }

    fn location(&self) -> Location {
        let (tool, source) = match self {
            Self::Duplicate { name, sites } => (Some(name), sites.iter().flatten().next().copied()),
            Self::NotProvided { tool, site, .. }
            | Self::Schema { tool, site, .. }
            | Self::Example { tool, site, .. }
            | Self::DefaultValue { tool, site, .. }
            | Self::MissingCheck { tool, site, .. }
            | Self::Panicked { tool, site, .. }
            | Self::ReservedName { name: tool, site } => (Some(tool), *site),
            Self::NotLinked { name, .. }
            | Self::ForeignClash { name, .. }
            | Self::NotReplaced { name }
            | Self::SameName { name, .. }
            | Self::OutputToolName { name } => (Some(name), None),
            Self::ReservedSet { tool, .. } => (tool.as_ref(), None),
            Self::ProvidedTwice { .. } | Self::NotListed { .. } => (None, None),
        };
        Location { tool: tool.filter(|it| *it != NAMELESS).cloned(), source, ..Location::default() }
    }

    pub(crate) fn message(&self) -> String {
        match self {
            Self::Duplicate { name, sites } => {
                let site = |site: &Option<SourceLocation>| match site {
                    Some(site) => site.to_string(),
                    None => "one that was added by hand".to_owned(),
                };
                format!(
                    "{} tools are named `{name}`: {}",
                    sites.len(),
                    join_parts(sites.iter().map(site), ", ")
                )
            }
            Self::NotProvided { tool, site, type_name, is_in_arc, .. } => {
                let state =
                    if *is_in_arc { "but an `Arc` of it is provided" } else { "which is not provided" };
                format!("tool `{tool}`{} takes a `&{type_name}`, {state}", SiteSuffix(site))
            }
            Self::ProvidedTwice { type_name } => format!("two values of type `{type_name}` are provided"),
            Self::Schema { tool, site, message }
            | Self::Example { tool, site, message }
            | Self::DefaultValue { tool, site, message } => {
                format!("tool `{tool}`{}: {message}", SiteSuffix(site))
            }
            Self::MissingCheck { tool, site, check } => {
                format!("tool `{tool}`{} claims `{check}`, and its calls do not answer", SiteSuffix(site))
            }
            Self::Panicked { tool, site, message } => {
                format!("tool `{tool}`{} panicked when it was made: {message}", SiteSuffix(site))
            }
            Self::NotLinked { name, .. } => format!("tool `{name}` is expected and not there"),
            Self::ForeignClash { name, raw_names } => {
                let raw_names = join_parts(raw_names.iter().map(|raw| format!("{raw:?}")), " and ");
                format!("the tools {raw_names} are both named `{name}`")
            }
            Self::NotReplaced { name } => format!("no tool is named `{name}`, so none is replaced"),
            Self::SameName { name, origins } => {
                let all = join_parts(origins.iter().map(Origin::to_string), ", ");
                format!("{} tools are named `{name}`: {all}", origins.len())
            }
            Self::ReservedName { name, site } => {
                format!("the name `{name}`{} is reserved for the output tool", SiteSuffix(site))
            }
            Self::OutputToolName { name } => {
                format!("the output tool must be named `{OUTPUT_TOOL}`, not `{name}`")
            }
            Self::ReservedSet { toolset, tool: None } => format!("the name `{toolset}` of a set is reserved"),
            Self::ReservedSet { toolset, tool: Some(tool) } => {
                format!("the tool `{tool}` is of the set `{toolset}`, whose name is reserved")
            }
            Self::NotListed { toolset, message } => {
                format!("the set `{toolset}` could not list its tools: {message}")
            }
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Duplicate { .. } => "rename one, or say `replace` for the one to keep",
            Self::NotProvided { is_in_arc: true, .. } => {
                "write `.provide_shared(arc)` instead of `.provide(arc)`"
            }
            Self::NotProvided { type_name, provided, .. } => {
                let fix = match type_name.starts_with("dyn ") {
                    true => {
                        "add `.provide_shared::<dyn ..>(Arc::new(..))`, or `.provide_per_run::<dyn ..>()` if each run \
                         provides its own"
                    }
                    false => "add `.provide(..)`, or `.provide_per_run::<..>()` if each run provides its own",
                };
                return Some(match provided.as_slice() {
                    [] => fix.to_owned(),
                    names => format!("{fix} (provided: `{}`)", names.join("`, `")),
                });
            }
            Self::ProvidedTwice { .. } => "wrap one of them in a type of its own",
            Self::MissingCheck { check, .. } => {
                let method = check.claim_and_method().1;
                return Some(format!("implement `Tool::checks` and use `{method}`, or remove the claim"));
            }
            Self::NotLinked { similar: Some(similar), .. } => {
                return Some(format!(
                    "did you mean `{similar}`? Otherwise, if it is in a crate that nothing else refers to, add \
                     `tool_runtime::link!(that_crate)`"
                ));
            }
            Self::NotLinked { similar: None, .. } => {
                "if it is in a crate that nothing else refers to, add `tool_runtime::link!(that_crate)`"
            }
            Self::ForeignClash { .. } => "rename one at its origin, or leave one out",
            Self::NotReplaced { .. } => "correct the name, or use `add`",
            Self::SameName { .. } => "rename one, or prefix its set",
            Self::ReservedName { .. } => "rename the tool, or add it by `output_tool`",
            Self::OutputToolName { .. } => "rename it",
            Self::ReservedSet { .. } => "rename the set",
            Self::Schema { .. }
            | Self::Example { .. }
            | Self::DefaultValue { .. }
            | Self::Panicked { .. }
            | Self::NotListed { .. } => return None,
        };
        Some(help.to_owned())
    }
}

/// The name in a [`Panicked`](BuildDiagnostic::Panicked) of a tool whose name is not known.
const NAMELESS: &str = "?";

fn join_parts(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

impl From<&BuildDiagnostic> for Diagnostic {
    fn from(it: &BuildDiagnostic) -> Self {
        let (location, severity, code) = (it.location(), Severity::Error, it.code());
        Self { location, severity, code, message: it.message(), help: it.help() }
    }
}

/// The message, and the help if there is one.
impl fmt::Display for BuildDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())?;
        self.help().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

/// A check before each call of a tool, required by its [`Metadata`](crate::definition::Metadata).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Check {
    /// `permission: true`.
    Permission,
    /// `confirmation: Confirmation::Sometimes`.
    Confirmation,
}

impl Check {
    /// The requirement, and the method that implements its check.
    fn claim_and_method(self) -> (&'static str, &'static str) {
        match self {
            Self::Permission => ("permission: true", "Prepared::with_permission"),
            Self::Confirmation => ("confirmation: Confirmation::Sometimes", "Prepared::with_confirmation"),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.claim_and_method().0)
    }
}

/// ` (file:line)`, if it is known.
struct SiteSuffix<'a>(&'a Option<SourceLocation>);

impl fmt::Display for SiteSuffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |site| write!(f, " ({site})"))
    }
}

/// The error of building a registry or a snapshot, with all its diagnostics.
///
/// `Debug` writes the same text as `Display`, for `unwrap` and for errors that `main` returns.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    pub(crate) diagnostics: Vec<BuildDiagnostic>,
}

impl BuildError {
    /// Returns all diagnostics; those of one tool stand together.
    #[must_use]
    pub fn diagnostics(&self) -> &[BuildDiagnostic] {
        &self.diagnostics
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.diagnostics.as_slice() {
            [only] => write!(f, "the tools cannot be used: {only}"),
            all => {
                write!(f, "the tools cannot be used, for {} reasons:", all.len())?;
                all.iter().try_for_each(|diagnostic| write!(f, "\n- {diagnostic}"))
            }
        }
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for BuildError {}

/// The diagnostic of a tool without a description.
pub(super) fn undescribed(definition: &ToolDefinition) -> Option<Diagnostic> {
    let name = definition.name();
    definition.description().trim().is_empty().then(|| Diagnostic {
        location: Location { tool: Some(name.to_string()), ..Location::default() },
        severity: Severity::Warning,
        code: "missing_description",
        message: format!("tool `{name}` has no description"),
        help: Some("say what it does, and when to call it".to_owned()),
    })
}

/// The diagnostic of a tool whose `retry` has no effect.
pub(super) fn blind_retry_diagnostic(entry: &Entry) -> Option<Diagnostic> {
    entry.retries_blindly().then(|| Diagnostic {
        location: Location {
            tool: Some(entry.definition().name().to_string()),
            source: entry.site(),
            ..Location::default()
        },
        severity: Severity::Warning,
        code: RETRY_WITHOUT_WHEN.0,
        message: format!("tool `{}`: {}", entry.definition().name(), RETRY_WITHOUT_WHEN.1),
        help: Some(RETRY_WITHOUT_WHEN.2.to_owned()),
    })
}

/// The code, message and help for a tool with `retry` whose errors are never transient, also of the lint.
pub(crate) const RETRY_WITHOUT_WHEN: (&str, &str, &str) = (
    "retry_without_when",
    "its `retry` has no effect: its errors are texts, and no text is known to be temporary",
    "add `when = path` to `retry` with a function that decides, or return a `ToolError` or another `std::error::Error`",
);

/// The diagnostic of a program in which panics end the process.
pub(super) fn abort_on_panic_warning() -> Diagnostic {
    program_warning(
        "panic_abort",
        "the program is built with `panic = \"abort\"`: a tool that panics ends it, instead of its call",
        "build it with `panic = \"unwind\"`",
    )
}

/// The diagnostic of a registry for which [`discover`](super::RegistryBuilder::discover) found no tools.
pub(super) fn nothing_discovered_warning() -> Diagnostic {
    program_warning(
        "nothing_discovered",
        "`discover()` found no tools",
        "put `#[tool]` on functions, or link the crate that contains them with `tool_runtime::link!(that_crate)`",
    )
}

/// A warning about the program as a whole.
fn program_warning(code: &'static str, message: &str, help: &str) -> Diagnostic {
    Diagnostic {
        location: Location::default(),
        severity: Severity::Warning,
        code,
        message: message.to_owned(),
        help: Some(help.to_owned()),
    }
}
