//! An immutable set of tools, and direct calls to them.
//!
//! A [`RegistryBuilder`] collects tools from annotated functions ([`discover`](RegistryBuilder::discover)),
//! handles and values, and the values that they depend on. [`build`](RegistryBuilder::build) returns a
//! [`Registry`], or a [`BuildError`] with every [`BuildDiagnostic`] of the program's tools. [`Registry::call`]
//! validates the arguments, runs the tool and returns its output. Calls that need a decision of a person are
//! rejected: hooks, policies, approval, retries and batches belong to an [`Executor`](crate::Executor).
//!
//! | type | purpose |
//! | --- | --- |
//! | [`Registry`] | the tools, their definitions, and direct calls |
//! | [`RegistryBuilder`] | its builder |
//! | [`BuildError`], [`BuildDiagnostic`] | mistakes that are found at start-up |
//! | [`AvailableTools`], [`Origin`] | the tools of a run, for a tool that needs to know them; where each comes from |

mod available;
mod build;
mod builder;
mod compiled;
mod deferral;
mod diagnostic;
mod direct;
mod entry;
#[cfg(feature = "executor")]
mod framework;
mod guard;
mod origin;
mod part;
mod redirected;
mod remote;
mod reserved;
mod source;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock, Weak},
};

use foldhash::fast::FixedState;
use tool_core::{
    ContentHash, Dependency, Names, ProvidedValues, SharedRequestHook, Tool, ToolDefinition, ToolError,
    ToolName, internals::DeclaredToolset,
};

use self::{deferral::Deferral, guard::DecisionGuard};
#[doc(inline)]
pub use tool_core::{Registration, SourceLocation, StaticToolSet};

#[cfg(feature = "lint")]
pub(crate) use self::diagnostic::RETRY_WITHOUT_WHEN;
pub use self::{
    available::AvailableTools,
    builder::RegistryBuilder,
    diagnostic::{BuildDiagnostic, BuildError, Check},
    origin::Origin,
    reserved::{OUTPUT_TOOL, RESERVED_SETS},
};
pub(crate) use self::{
    available::Origins,
    entry::{Entry, ToolFacts},
    redirected::framework_target_error,
    reserved::refuse_reserved_set,
};
use crate::{
    arguments::{Lenience, Repair},
    diagnostic::Diagnostic,
};

/// An immutable set of tools, sorted by name. Cheap to clone.
///
/// # Examples
///
/// ```
/// use tool_runtime::prelude::*;
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let tools = Registry::builder().tool::<add>().build()?;
/// let reply = tools.call("add", r#"{ "a": 2, "b": 3 }"#).await?;
/// assert_eq!(reply.text(), "5");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    inner: Arc<RegistryParts>,
}

struct RegistryParts {
    /// Shared with the subsets of this registry.
    entries: Arc<[Arc<Entry>]>,
    /// The definitions and origins, in the form that tools receive.
    available: Arc<AvailableTools>,
    /// The definitions that are listed, and the names of those that are not; `None` if all are.
    deferral: Option<Arc<Deferral>>,
    /// The program's provided values, and `AvailableTools`.
    provided: Arc<ProvidedValues>,
    by_name: HashMap<ToolName, usize, FixedState>,
    settings: Arc<RegistrySettings>,
    diagnostics: Vec<Diagnostic>,
    /// The definitions as JSON.
    json: OnceLock<Box<str>>,
    content_hash: OnceLock<ContentHash>,
    /// An index for suggestions of close names.
    names: OnceLock<Names>,
    /// The request hooks.
    request_hooks: Vec<SharedRequestHook>,
    /// Set if the arguments of some tool are repaired.
    repairs: bool,
    /// Set if calls of some tool stand for calls of another one.
    redirects: bool,
    redirects_remotely: bool,
    /// Set if some tool has a secret parameter, including tools that were filtered out: a model may call them
    /// all the same.
    has_secret: bool,
}

/// Settings of all tools of a registry.
struct RegistrySettings {
    provided: Arc<ProvidedValues>,
    per_run: Vec<Dependency>,
    lenience: Lenience,
    /// `true` if `discover()` found no tools.
    nothing_discovered: bool,
}

/// A weak handle that identifies a registry without keeping it alive.
pub(crate) struct RegistryIdentity(Weak<RegistryParts>);

impl RegistryIdentity {
    pub(crate) fn is_of(&self, registry: &Registry) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(&registry.inner))
    }
}

impl Registry {
    /// Creates a builder.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// Builds a registry of all annotated tools that are linked into this program.
    ///
    /// # Errors
    ///
    /// As [`RegistryBuilder::build`]; this is `Registry::builder().discover().build()`.
    pub fn discover() -> Result<Self, BuildError> {
        Self::builder().discover().build()
    }

    /// Creates an empty registry with default settings.
    pub(crate) fn none() -> Self {
        let lenience = Lenience { coercion: true, repair: Repair::default() };
        let settings = RegistrySettings {
            provided: Arc::default(),
            per_run: Vec::new(),
            lenience,
            nothing_discovered: false,
        };
        Self::from_entries(Vec::new(), Arc::new(settings), Vec::new(), None, false, None)
    }

    /// Creates a registry of `entries`, which are sorted by name; `hides_secret` is `true` if a tool that was
    /// filtered out has a secret parameter.
    fn from_entries(
        entries: Vec<Arc<Entry>>,
        settings: Arc<RegistrySettings>,
        request_hooks: Vec<SharedRequestHook>,
        origins: Option<Arc<Origins>>,
        hides_secret: bool,
        deferred: Option<&Deferral>,
    ) -> Self {
        let definitions: Vec<_> = entries.iter().map(|entry| entry.definition().clone()).collect();
        let by_name = definitions.iter().enumerate().map(|(at, it)| (it.name().clone(), at)).collect();
        let aborts = cfg!(panic = "abort").then(diagnostic::abort_on_panic_warning);
        let undiscovered = settings.nothing_discovered.then(diagnostic::nothing_discovered_warning);
        let undescribed = definitions.iter().filter_map(diagnostic::undescribed);
        let retried_blindly = entries.iter().filter_map(|entry| diagnostic::blind_retry_diagnostic(entry));
        let warnings = aborts.into_iter().chain(undiscovered).chain(undescribed);
        let diagnostics = warnings.chain(retried_blindly).collect();
        let repairs = entries.iter().any(|entry| entry.repairs_arguments());
        let has_secret = hides_secret || entries.iter().any(|entry| entry.has_secret());
        let redirects = entries.iter().any(|entry| entry.redirects());
        let redirects_remotely = redirects && entries.iter().any(|entry| entry.redirects_remotely());
        let deferral = deferred.and_then(|deferred| deferred.restricted_to(&definitions)).map(Arc::new);
        let entries: Arc<[_]> = entries.into();
        let available =
            Arc::new(AvailableTools::new(definitions, origins, &entries, &settings, deferral.clone()));
        let mut provided = ProvidedValues::clone(&settings.provided);
        provided.insert(Arc::clone(&available));
        Self {
            inner: Arc::new(RegistryParts {
                entries,
                available,
                deferral,
                provided: Arc::new(provided),
                by_name,
                settings,
                diagnostics,
                json: OnceLock::new(),
                content_hash: OnceLock::new(),
                names: OnceLock::new(),
                request_hooks,
                repairs,
                redirects,
                redirects_remotely,
                has_secret,
            }),
        }
    }

    /// Returns the definitions of the tools, sorted by name, without those that are
    /// [deferred](Self::with_deferred).
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        self.inner.deferral.as_ref().map_or_else(|| self.all_definitions(), |deferral| &deferral.listed)
    }

    /// Returns the definitions of all tools, also of those that are [deferred](Self::with_deferred), sorted by name.
    #[must_use]
    pub fn all_definitions(&self) -> &[ToolDefinition] {
        self.inner.available.definitions()
    }

    /// Returns the [definitions](Self::definitions) as the text of a JSON array, written once.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::prelude::*;
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// let tools = Registry::builder().tool::<add>().build()?;
    /// assert!(tools.definitions_json().starts_with(r#"[{"name":"add","description":"Adds two numbers.""#));
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    #[must_use]
    pub fn definitions_json(&self) -> &str {
        let json = || serde_json::to_string(self.definitions()).unwrap_or_else(|_| "[]".to_owned());
        self.inner.json.get_or_init(|| json().into())
    }

    /// Returns the [request hooks](RegistryBuilder::request_hook), in the order in which they run.
    #[must_use]
    pub fn request_hooks(&self) -> &[SharedRequestHook] {
        &self.inner.request_hooks
    }

    /// Returns the tool with that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(Entry::tool)
    }

    /// Returns the tool with that name, like [`get`](Self::get), or an error for the model.
    ///
    /// # Errors
    ///
    /// Returns an error that [is "not found"](tool_core::ErrorKind::is_not_found), with close names, if there is no such
    /// tool.
    pub fn lookup(&self, name: &str) -> Result<&Arc<dyn Tool>, ToolError> {
        self.entry_or_error(name).map(Entry::tool)
    }

    /// Returns `true` if `other` is a clone of this registry, or this registry is one of `other`.
    #[doc(hidden)]
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Returns a weak handle that identifies this registry.
    pub(crate) fn identity(&self) -> RegistryIdentity {
        RegistryIdentity(Arc::downgrade(&self.inner))
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.entries.len()
    }

    /// Returns `true` if there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.entries.is_empty()
    }

    /// Returns the warnings about the tools and the program, as of the build of the registry. Its errors are those of a
    /// [`BuildError`].
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.inner.diagnostics
    }

    /// Returns `true` for the tools of a toolbox, which may have others for the next run.
    pub(crate) fn is_live(&self) -> bool {
        self.inner.available.origins().is_some()
    }

    /// Returns the values that the program provides to the tools.
    #[must_use]
    pub fn provided(&self) -> &Arc<ProvidedValues> {
        &self.inner.provided
    }

    /// Returns a hash over [all definitions](Self::all_definitions). It is equal for equal registries, in every run and every build.
    #[must_use]
    pub fn content_hash(&self) -> ContentHash {
        let hashes = || self.all_definitions().iter().map(ToolDefinition::content_hash);
        *self.inner.content_hash.get_or_init(|| ContentHash::combine(hashes()))
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.inner.entries.get(*self.inner.by_name.get(name)?).map(AsRef::as_ref)
    }

    /// Returns `true` if the arguments of some tool are [repaired](super::schema::Repair).
    #[must_use]
    pub fn repairs_arguments(&self) -> bool {
        self.inner.repairs
    }

    /// Returns `true` if some tool has a secret parameter, including tools that were filtered out.
    #[doc(hidden)]
    #[must_use]
    pub fn has_secret(&self) -> bool {
        self.inner.has_secret
    }

    /// Returns `true` if no definition identifies the secrets among the arguments of a call of `name`: the tool is unknown
    /// or redirects, and some tool has a secret parameter.
    #[doc(hidden)]
    #[must_use]
    pub fn has_unidentified_secret(&self, name: &str) -> bool {
        self.has_secret() && self.entry(name).is_none_or(Entry::redirects)
    }

    pub(crate) fn entry_or_error(&self, name: &str) -> Result<&Entry, ToolError> {
        self.entry(name).ok_or_else(|| self.unknown_tool_error(name))
    }

    #[cold]
    pub(crate) fn unknown_tool_error(&self, name: &str) -> ToolError {
        const MAX_NAME_CHARS: usize = 160;
        let mut shown = String::new();
        for (at, word) in name.split_whitespace().take(MAX_NAME_CHARS).enumerate() {
            let blank = (at > 0).then_some(' ');
            let room = MAX_NAME_CHARS.saturating_sub(shown.chars().count());
            shown.extend(blank.into_iter().chain(word.chars()).take(room));
        }
        shown.truncate(shown.trim_end().len());
        let definitions = self.all_definitions();
        let name_at = |at: usize| definitions.get(at).map(|definition| definition.name().as_str());
        let names = || Names::new(definitions.iter().map(|definition| definition.name().as_str()));
        let names = self.inner.names.get_or_init(names);
        let close = names.nearest(&shown, |at| name_at(at).unwrap_or_default());
        let close = close.iter().filter_map(|name| ToolName::new((*name).to_owned()).ok()).collect();
        let note = match DeclaredToolset::with_tool(&shown) {
            Some(toolset) => Some(format!(
                "it is a method of the toolset `{toolset}`, which is not in this registry; add it with `.toolset(..)`"
            )),
            None if definitions.is_empty() => Some("the registry has no tools".to_owned()),
            None => None,
        };
        let error = ToolError::unknown_tool(shown, close);
        match note {
            Some(note) => error.with_log_note(note),
            None => error,
        }
    }
}

/// An empty registry with default settings, for an [`Executor`](crate::Executor) whose tools come with each run.
impl Default for Registry {
    fn default() -> Self {
        Self::none()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all_definitions().iter().map(ToolDefinition::name)).finish()
    }
}
