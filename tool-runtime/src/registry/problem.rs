use std::{error::Error, fmt};

use tool_core::SourceLocation;

use super::OUTPUT_TOOL;
use crate::toolbox::Origin;

/// One reason why a set of tools cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Several tools have one name.
    Duplicate {
        /// The name.
        name: String,
        /// The source location of each, if it is known.
        sites: Vec<Option<SourceLocation>>,
    },
    /// A tool takes a value that the program does not provide.
    NotProvided {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The type of the value.
        type_name: &'static str,
        /// `true` if the program provides an `Arc` of that type by `provide`, in place of `provide_shared`.
        is_in_arc: bool,
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
        /// The problem.
        message: String,
    },
    /// An example of a tool does not fit its schema.
    Example {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The problem.
        message: String,
    },
    /// The default of a parameter does not fit its schema: a model that sends it is refused.
    DefaultValue {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The problem.
        message: String,
    },
    /// The metadata of a tool claims a check before its calls, and the tool does not [answer](tool_core::Tool::checks)
    /// the question.
    MissingCheck {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The check.
        check: Check,
    },
    /// A tool panicked when it was made: its schemas, or what it has for defaults, examples or labels.
    Panicked {
        /// The tool.
        tool: String,
        /// Its source location, if it is known.
        site: Option<SourceLocation>,
        /// The message of the panic.
        message: String,
    },
    /// A tool that was expected is not there.
    NotLinked {
        /// The name.
        name: String,
    },
    /// Tools that other programs call by different names have one name here: see
    /// [`ToolName::from_foreign`](tool_core::ToolName::from_foreign).
    ForeignClash {
        /// The name.
        name: String,
        /// The names of the tools at their origins.
        raw_names: Vec<String>,
    },
    /// A tool replaces one that is not there.
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
    /// A tool has a [reserved name](crate::registry::OUTPUT_TOOL), and is not added as what the name is for.
    ReservedName {
        /// The name.
        name: String,
        /// The source location of the tool, if it is known.
        site: Option<SourceLocation>,
    },
    /// The output tool has another name than [`OUTPUT_TOOL`](crate::registry::OUTPUT_TOOL).
    OutputToolName {
        /// The name that it has.
        name: String,
    },
    /// A set, or a tool that says which set it belongs to, has a [reserved](crate::registry::RESERVED_SETS) name of a set.
    ReservedSet {
        /// The name of the set.
        toolset: String,
        /// The tool, where it is one that says so.
        tool: Option<String>,
    },
    /// A set could not list its tools.
    NotListed {
        /// The name of the set.
        toolset: String,
        /// The reason.
        message: String,
    },
}

impl Problem {
    /// A tool that panicked with `message` before its name was known.
    pub(crate) fn nameless(message: String) -> Self {
        Self::Panicked { tool: "?".to_owned(), site: None, message }
    }
}

/// A check before each call of a tool that its [`Metadata`](crate::definition::Metadata) claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Check {
    /// `permission: true`.
    Permission,
    /// `confirmation: Confirmation::Sometimes`.
    Confirmation,
}

impl Check {
    /// The check, and the method that answers it.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Permission => ("permission: true", "Prepared::with_permission"),
            Self::Confirmation => ("confirmation: Confirmation::Sometimes", "Prepared::with_confirmation"),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words().0)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { name, sites } => {
                write!(f, "{} tools are named `{name}`: ", sites.len())?;
                for (at, site) in sites.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    match site {
                        Some(site) => write!(f, "{site}")?,
                        None => f.write_str("one that was added by hand")?,
                    }
                }
                f.write_str("; rename one, or say `replace` for the one to keep")
            }
            Self::NotProvided { tool, site, type_name, is_in_arc } => {
                write!(f, "tool `{tool}`{} takes a `&{type_name}`, ", At(site))?;
                f.write_str(match (is_in_arc, type_name.starts_with("dyn ")) {
                    (true, _) => "but an `Arc` of it is provided; write `.provide_shared(arc)` instead of `.provide(arc)`",
                    (false, true) => {
                        "which is not provided; add `.provide_shared::<dyn ..>(Arc::new(..))`, or \
                         `.provide_per_run::<dyn ..>()` if each run provides its own"
                    }
                    (false, false) => {
                        "which is not provided; add `.provide(..)`, or `.provide_per_run::<..>()` if each run provides its own"
                    }
                })
            }
            Self::ProvidedTwice { type_name } => {
                write!(
                    f,
                    "two values of type `{type_name}` are provided; wrap one of them in a type of its own"
                )
            }
            Self::Schema { tool, site, message }
            | Self::Example { tool, site, message }
            | Self::DefaultValue { tool, site, message } => {
                write!(f, "tool `{tool}`{}: {message}", At(site))
            }
            Self::MissingCheck { tool, site, check } => {
                let (check, method) = check.words();
                write!(
                    f,
                    "tool `{tool}`{} claims `{check}`, and its calls do not answer; implement `Tool::checks` and use \
                     `{method}`, or remove the claim",
                    At(site)
                )
            }
            Self::Panicked { tool, site, message } => {
                write!(f, "tool `{tool}`{} panicked when it was made: {message}", At(site))
            }
            Self::NotLinked { name } => write!(
                f,
                "tool `{name}` is expected and not there; if it is in a crate that nothing else refers to, \
                 add `tool_runtime::link!(that_crate)`"
            ),
            Self::ForeignClash { name, raw_names } => {
                for (at, raw) in raw_names.iter().enumerate() {
                    write!(f, "{}{raw:?}", if at == 0 { "the tools " } else { " and " })?;
                }
                write!(f, " are both named `{name}`; rename one at its origin, or leave one out")
            }
            Self::NotReplaced { name } => {
                write!(f, "no tool is named `{name}`, so none is replaced; correct the name, or use `add`")
            }
            Self::SameName { name, origins } => {
                write!(f, "{} tools are named `{name}`: ", origins.len())?;
                for (at, origin) in origins.iter().enumerate() {
                    write!(f, "{}{origin}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("; rename one, or prefix its set")
            }
            Self::ReservedName { name, site } => write!(
                f,
                "the name `{name}`{} is reserved for the output tool; rename the tool, or add it by `output_tool`",
                At(site)
            ),
            Self::OutputToolName { name } => {
                write!(f, "the output tool must be named `{OUTPUT_TOOL}`, not `{name}`; rename it")
            }
            Self::ReservedSet { toolset, tool: None } => {
                write!(f, "the name `{toolset}` of a set is reserved; rename the set")
            }
            Self::ReservedSet { toolset, tool: Some(tool) } => {
                write!(
                    f,
                    "the tool `{tool}` is of the set `{toolset}`, whose name is reserved; rename the set"
                )
            }
            Self::NotListed { toolset, message } => {
                write!(f, "the set `{toolset}` could not list its tools: {message}")
            }
        }
    }
}

/// ` (file:line)`, where that is known.
struct At<'a>(&'a Option<SourceLocation>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |site| write!(f, " ({site})"))
    }
}

/// Why a set of tools cannot be built: every reason at once.
///
/// `Debug` writes the same text as `Display`, which is what `unwrap` and an error that `main` returns show.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    pub(crate) problems: Vec<Problem>,
}

impl BuildError {
    /// The reasons, those of one tool together.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => write!(f, "the tools cannot be used: {only}"),
            all => {
                write!(f, "the tools cannot be used, for {} reasons:", all.len())?;
                all.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
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

/// Something odd about a tool that is no mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// A tool has no description; a model will have to guess.
    NoDescription {
        /// The tool.
        tool: String,
    },
    /// The program is built with `panic = "abort"`: a tool, or a hook, that panics ends it.
    PanicsAbort,
    /// [`discover`](crate::registry::RegistryBuilder::discover) found no tools in the program.
    NothingDiscovered,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDescription { tool } => write!(f, "tool `{tool}` has no description"),
            Self::NothingDiscovered => f.write_str(
                "`discover()` found no tools; put `#[tool]` on functions, or link the crate that contains them with \
                 `tool_runtime::link!(that_crate)`",
            ),
            Self::PanicsAbort => f.write_str(
                "the program is built with `panic = \"abort\"`: a tool that panics ends it, instead of its call",
            ),
        }
    }
}
