use std::time::Duration;

use schemars::Schema;
use serde_json::Value;

use super::{Constraint, Generator, type_probe::Described};
use crate::{
    Confirmation, Dependency, Metadata, OnRequest, PrepareArguments, Registration, Retry, SourceLocation,
};

/// A type that represents a tool: `Registry::builder().tool::<T>()`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a tool",
    label = "has no `#[tool]`",
    note = "`#[tool]` makes a type of the name of its function or struct, unless it has `handle = none`",
    note = "add a value whose `impl` block has `#[toolset]` by `.toolset(value)`"
)]
pub trait Handle {
    const REGISTRATION: &'static Registration;
}

/// A function that creates a value that need not be a constant.
type MakeValue = fn() -> Value;

/// The contents of a tool's attribute, as a constant.
#[derive(Debug)]
pub struct Spec {
    pub name: &'static str,
    pub title: Option<&'static str>,
    pub description: &'static str,
    pub site: SourceLocation,
    pub parameters: &'static [Parameter],
    pub output: Option<fn(&mut Generator) -> Described>,
    /// Returns `true` if the function returns a stream; set if `output` is not.
    pub streams: Option<fn() -> bool>,
    pub input_override: Option<fn() -> Result<Value, String>>,
    pub output_override: Option<fn() -> Result<Value, String>>,
    pub hints: Hints,
    pub sequential: bool,
    pub blocking: bool,
    pub strict: Option<bool>,
    pub skip_summarization: bool,
    pub merge: bool,
    pub ignore_unknown: bool,
    pub confirm: bool,
    pub confirm_when: bool,
    pub has_permission: bool,
    pub timeout_ms: Option<u64>,
    pub idle_timeout_ms: Option<u64>,
    pub grace_period_ms: Option<u64>,
    pub max_result_size: Option<u64>,
    pub retry: Option<Retry>,
    /// Returns `true` if temporary failures cannot be recognised; set if the retry policy depends on it.
    pub failures_are_never_temporary: Option<fn() -> bool>,
    pub tags: &'static [&'static str],
    pub toolset: Option<&'static str>,
    pub group: Option<&'static str>,
    pub trust: Option<&'static str>,
    pub meta: &'static [(&'static str, MakeValue)],
    pub examples: &'static [MakeValue],
    pub needs: &'static [fn() -> Dependency],
    pub prepare: Option<PrepareArguments>,
    pub on_request: Option<OnRequest>,
}

/// The hints of [`Metadata`].
#[derive(Debug)]
pub struct Hints {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
    pub concurrency_safe: Option<bool>,
    pub search_or_read: Option<bool>,
    pub long_running: Option<bool>,
}

impl Hints {
    pub const NONE: Self = Self {
        read_only: None,
        destructive: None,
        idempotent: None,
        open_world: None,
        concurrency_safe: None,
        search_or_read: None,
        long_running: None,
    };
}

/// One parameter of a function, filled by the model or the program.
#[derive(Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub description: &'static str,
    pub aliases: &'static [&'static str],
    pub constraints: &'static [Constraint],
    /// `true` if the default is a value written in the attribute instead of a function.
    pub default_written: bool,
    pub secret: bool,
    pub whole: bool,
}

impl Parameter {
    pub const EMPTY: Self = Self {
        name: "",
        description: "",
        aliases: &[],
        constraints: &[],
        default_written: false,
        secret: false,
        whole: false,
    };

    /// Returns `true` if a model may call the parameter `key`.
    pub(super) fn has_name_or_alias(&self, key: &str) -> bool {
        self.name == key || self.aliases.contains(&key)
    }
}

impl Spec {
    /// Creates a table with a name, a description and a location only.
    ///
    /// # Panics
    ///
    /// Panics at compile time if the description is empty.
    #[must_use]
    #[expect(clippy::panic, reason = "evaluated by the compiler, in an expansion")]
    pub const fn new(name: &'static str, description: &'static str, site: SourceLocation) -> Self {
        if description.is_empty() {
            panic!("a tool needs a description; this one is empty");
        }
        Self {
            name,
            title: None,
            description,
            site,
            parameters: &[],
            output: None,
            streams: None,
            input_override: None,
            output_override: None,
            hints: Hints::NONE,
            sequential: false,
            blocking: false,
            strict: None,
            skip_summarization: false,
            merge: false,
            ignore_unknown: false,
            confirm: false,
            confirm_when: false,
            has_permission: false,
            timeout_ms: None,
            idle_timeout_ms: None,
            grace_period_ms: None,
            max_result_size: None,
            retry: None,
            failures_are_never_temporary: None,
            tags: &[],
            toolset: None,
            group: None,
            trust: None,
            meta: &[],
            examples: &[],
            needs: &[],
            prepare: None,
            on_request: None,
        }
    }

    pub(crate) fn metadata(&self, streaming: bool) -> Metadata {
        let Hints {
            read_only,
            destructive,
            idempotent,
            open_world,
            concurrency_safe,
            search_or_read,
            long_running,
        } = self.hints;
        Metadata {
            read_only,
            destructive,
            idempotent,
            open_world,
            concurrency_safe,
            search_or_read,
            long_running,
            max_result_size: self.max_result_size,
            sequential: self.sequential,
            blocking: self.blocking,
            skip_summarization: self.skip_summarization,
            merge: self.merge,
            streaming,
            strict: self.strict,
            timeout: self.timeout_ms.map(Duration::from_millis),
            idle_timeout: self.idle_timeout_ms.map(Duration::from_millis),
            grace_period: self.grace_period_ms.map(Duration::from_millis),
            retry: self.retry,
            confirmation: match (self.confirm, self.confirm_when) {
                (true, _) => Confirmation::Always,
                (false, true) => Confirmation::Sometimes,
                (false, false) => Confirmation::Never,
            },
            permission: self.has_permission,
            toolset: self.toolset.map(Into::into),
            group: self.group.map(Into::into),
            trust: self.trust.map(Into::into),
            secrets: self.parameters.iter().filter(|it| it.secret).map(|it| it.name.into()).collect(),
            tags: self.tags.iter().map(|&tag| tag.into()).collect(),
            custom: self.meta.iter().map(|&(key, value)| (key.to_owned(), value())).collect(),
        }
    }
}

/// The values of `input_schema = ..` and `output_schema = ..`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a JSON Schema",
    note = "pass a `serde_json::Value` or a string of JSON"
)]
pub trait IntoSchema {
    fn into_schema(self) -> Result<Value, String>;
}

impl IntoSchema for Value {
    fn into_schema(self) -> Result<Value, String> {
        Ok(self)
    }
}

impl IntoSchema for Schema {
    fn into_schema(self) -> Result<Value, String> {
        Ok(self.to_value())
    }
}

impl IntoSchema for &str {
    fn into_schema(self) -> Result<Value, String> {
        serde_json::from_str(self).map_err(|error| format!("not JSON: {error}"))
    }
}

/// Returns the source location of an expansion.
#[doc(hidden)]
#[macro_export]
macro_rules! site {
    () => {
        $crate::SourceLocation {
            file: ::core::file!(),
            line: ::core::line!(),
            module: ::core::module_path!(),
            // Of the crate that is compiled: the one of the tool.
            package: ::core::option_env!("CARGO_PKG_NAME"),
            version: ::core::option_env!("CARGO_PKG_VERSION"),
        }
    };
}
