//! A set of tools that does not change, and the plain way of calling one of them.
//!
//! Everything that can be wrong with a program's tools is found when the set is built, all of it at
//! once; what is left for a call to fail at is the call. A call here goes from its arguments to its
//! result and stops at what a person has to decide: hooks, policies, retries and batches belong
//! around it, not into it.

mod available;
mod build;
mod entry;
mod guard;
mod make;
mod part;
mod problem;
mod reserved;
mod source;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock, Weak},
};

use foldhash::fast::FixedState;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use tool_core::{
    Arguments, CallId, ContentHash, Dependency, ErrorKind, Names, ProvidedValues, SharedRequestHook, Tool,
    ToolContext, ToolDefinition, ToolError, ToolName, ToolOutput,
};

use self::guard::Guard;
#[doc(inline)]
pub use tool_core::{Registration, SourceLocation, StaticToolSet};

pub use self::{
    available::AvailableTools,
    build::RegistryBuilder,
    problem::{BuildError, Check, Problem, Warning},
    reserved::{OUTPUT_TOOL, RESERVED_SETS},
};
pub(crate) use self::{
    available::Origins,
    entry::{Entry, Facts},
    reserved::refuse_set,
};
use crate::arguments::{Lenience, Repair};

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
    inner: Arc<Inner>,
}

struct Inner {
    /// Shared with the sets that are made of some of them.
    entries: Vec<Arc<Entry>>,
    /// The definitions and origins, as tools see them.
    available: Arc<AvailableTools>,
    /// The values of the program, and what there is besides.
    provided: Arc<ProvidedValues>,
    by_name: HashMap<ToolName, usize, FixedState>,
    terms: Arc<Terms>,
    warnings: Vec<Warning>,
    content_hash: OnceLock<ContentHash>,
    /// By which names are found that are close to an unknown one.
    names: OnceLock<Names>,
    /// What adds to requests beside the tools.
    request_hooks: Vec<SharedRequestHook>,
    /// Whether arguments of some tool are repaired.
    repairs: bool,
    /// Whether some tool has a secret parameter, also one that was left out of the set: a model may call it all the same.
    has_secret: bool,
}

/// What holds for all tools of a set.
struct Terms {
    provided: Arc<ProvidedValues>,
    per_run: Vec<Dependency>,
    lenience: Lenience,
}

/// Which set it is, also when it is gone.
pub(crate) struct Identity(Weak<Inner>);

impl Identity {
    pub(crate) fn is_of(&self, registry: &Registry) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(&registry.inner))
    }
}

impl Registry {
    /// Starts a set.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// The set of all tools that this program was linked with.
    ///
    /// # Errors
    ///
    /// As [`RegistryBuilder::build`], which this is short for.
    pub fn discover() -> Result<Self, BuildError> {
        Self::builder().discover().build()
    }

    /// No tools, on the terms of a builder of which nothing was said.
    pub(crate) fn none() -> Self {
        let lenience = Lenience { coercion: true, repair: Repair::default() };
        let terms = Terms { provided: Arc::default(), per_run: Vec::new(), lenience };
        Self::assemble(Vec::new(), Arc::new(terms), Vec::new(), None, false)
    }

    /// The set of `entries`, which are sorted by name; `hides_secret` says whether a tool that is left out has a secret
    /// parameter.
    fn assemble(
        entries: Vec<Arc<Entry>>,
        terms: Arc<Terms>,
        request_hooks: Vec<SharedRequestHook>,
        origins: Option<Arc<Origins>>,
        hides_secret: bool,
    ) -> Self {
        let definitions: Vec<_> = entries.iter().map(|entry| entry.definition().clone()).collect();
        let by_name = definitions.iter().enumerate().map(|(at, it)| (it.name().clone(), at)).collect();
        let aborts = cfg!(panic = "abort").then_some(Warning::PanicsAbort);
        let warnings = aborts.into_iter().chain(definitions.iter().filter_map(warning)).collect();
        let repairs = entries.iter().any(|entry| entry.repairs());
        let has_secret = hides_secret || entries.iter().any(|entry| entry.has_secret());
        let available = Arc::new(AvailableTools::new(definitions, origins));
        let mut provided = ProvidedValues::clone(&terms.provided);
        provided.insert(Arc::clone(&available));
        Self {
            inner: Arc::new(Inner {
                entries,
                available,
                provided: Arc::new(provided),
                by_name,
                terms,
                warnings,
                content_hash: OnceLock::new(),
                names: OnceLock::new(),
                request_hooks,
                repairs,
                has_secret,
            }),
        }
    }

    /// What a model and a user interface see of the tools, sorted by name.
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        self.inner.available.definitions()
    }

    /// Returns the [request hooks](RegistryBuilder::request_hook), in the order in which they are asked.
    #[must_use]
    pub fn request_hooks(&self) -> &[SharedRequestHook] {
        &self.inner.request_hooks
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(Entry::tool)
    }

    /// The tool of that name, as [`get`](Self::get) gives it.
    ///
    /// # Errors
    ///
    /// If there is none: of a kind that [is "not found"](ErrorKind::is_not_found), with close names.
    pub fn lookup(&self, name: &str) -> Result<&Arc<dyn Tool>, ToolError> {
        self.require(name).map(Entry::tool)
    }

    /// What tells the set from others, and keeps nothing of it.
    pub(crate) fn identity(&self) -> Identity {
        Identity(Arc::downgrade(&self.inner))
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.entries.is_empty()
    }

    /// What was odd about the tools when the set was built, but no mistake.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.warnings
    }

    /// The values that the program provides to the tools.
    #[must_use]
    pub fn provided(&self) -> &Arc<ProvidedValues> {
        &self.inner.provided
    }

    /// A hash over all definitions: equal for equal sets, in every run and every build.
    #[must_use]
    pub fn content_hash(&self) -> ContentHash {
        let hashes = || self.definitions().iter().map(ToolDefinition::content_hash);
        *self.inner.content_hash.get_or_init(|| ContentHash::combine(hashes()))
    }

    /// Checks `arguments`, calls the tool `name` with them and gives its result.
    ///
    /// Arguments that are almost right are corrected, unless the tool or the set is
    /// [strict](RegistryBuilder::strict); the result says [what was](ToolOutput::corrections).
    ///
    /// The tool's `timeout` is honoured, and a panic in it is an error like any other. Dropping the
    /// future cancels the call.
    ///
    /// # Errors
    ///
    /// - [`UnknownTool`](ErrorKind::UnknownTool): there is no such tool; close names are suggested.
    /// - [`InvalidArguments`](ErrorKind::InvalidArguments): the arguments do not fit; the tool was
    ///   not run.
    /// - [`ApprovalRequired`](ErrorKind::ApprovalRequired): the tool has `confirm` or `permission`,
    ///   and nobody is here to decide. An executor asks; [`call_unguarded`](Self::call_unguarded)
    ///   is for a host that has decided.
    /// - Whatever else became of the call.
    pub async fn call<'a>(
        &self,
        name: &str,
        arguments: impl Into<Arguments<'a>>,
    ) -> Result<ToolOutput, ToolError> {
        let entry = self.require(name)?;
        entry.call(arguments.into(), &self.context(entry), Guard::On).await
    }

    /// As [`call`](Self::call), without asking whether a person should decide.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call), but for `ApprovalRequired`.
    pub async fn call_unguarded<'a>(
        &self,
        name: &str,
        arguments: impl Into<Arguments<'a>>,
    ) -> Result<ToolOutput, ToolError> {
        let entry = self.require(name)?;
        entry.call(arguments.into(), &self.context(entry), Guard::Off).await
    }

    /// As [`call`](Self::call), in a context of the caller's making, which [`context_for`](Self::context_for)
    /// starts.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn call_in<'a>(
        &self,
        cx: &ToolContext,
        arguments: impl Into<Arguments<'a>>,
    ) -> Result<ToolOutput, ToolError> {
        let entry = self.require(cx.tool_name())?;
        entry.call(arguments.into(), cx, Guard::On).await
    }

    /// Checks `arguments` against the schema of the tool `name` and gives them as they fit, with what
    /// was corrected for that; runs nothing.
    ///
    /// # Errors
    ///
    /// If there is no such tool, or the arguments do not fit: with the text that a call would give.
    pub fn check<'a>(
        &self,
        name: &str,
        arguments: impl Into<Arguments<'a>>,
    ) -> Result<Arguments<'a>, ToolError> {
        self.require(name)?.fit(arguments.into())
    }

    /// Gives `arguments` as they fit the tool `name`, as their canonical text.
    pub(crate) fn canonical<'a>(
        &self,
        name: &str,
        arguments: Arguments<'a>,
    ) -> Result<Arguments<'a>, ToolError> {
        self.require(name)?.canonical(arguments)
    }

    /// Checks `arguments` against the schema of the tool `name` and decodes them; runs nothing.
    ///
    /// For a host that carries a call out by itself.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), or if `T` is not the type of this tool's arguments.
    pub fn decode<'a, T: DeserializeOwned>(
        &self,
        name: &str,
        arguments: impl Into<Arguments<'a>>,
    ) -> Result<T, ToolError> {
        let entry = self.require(name)?;
        let mut arguments = entry.fit(arguments.into())?;
        entry.definition().decode(&mut arguments).map_err(|error| {
            let wanted = std::any::type_name::<T>();
            let message = format!("the arguments do not decode as `{wanted}`: {}", error.report());
            ToolError::new(ErrorKind::InvalidArguments, message).of_tool(name.to_owned())
        })
    }

    /// A context for a call of the tool `name`: a new id, what the program provides, nobody
    /// listening.
    ///
    /// # Errors
    ///
    /// If there is no such tool.
    pub fn context_for(&self, name: &str) -> Result<ToolContext, ToolError> {
        Ok(self.context(self.require(name)?))
    }

    pub(crate) fn context(&self, entry: &Entry) -> ToolContext {
        let name = entry.definition().name().clone();
        ToolContext::new(name, Arc::clone(self.provided()))
    }

    /// A context for the call `id` that arrived as number `serial`, under `token`.
    pub(crate) fn call_context(
        &self,
        entry: &Entry,
        (id, serial): (CallId, u64),
        token: CancellationToken,
    ) -> ToolContext {
        let name = entry.definition().name().clone();
        ToolContext::of_call(name, Arc::clone(self.provided()), (id, serial), token)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.inner.entries.get(*self.inner.by_name.get(name)?).map(AsRef::as_ref)
    }

    /// Whether arguments of some tool are repaired.
    pub(crate) fn repairs(&self) -> bool {
        self.inner.repairs
    }

    /// Whether some tool has a secret parameter, also one that was left out of the set.
    pub(crate) fn has_secret(&self) -> bool {
        self.inner.has_secret
    }

    fn require(&self, name: &str) -> Result<&Entry, ToolError> {
        self.entry(name).ok_or_else(|| self.unknown(name))
    }

    pub(crate) fn unknown(&self, name: &str) -> ToolError {
        const LONGEST: usize = 160;
        let mut shown = String::new();
        for (at, word) in name.split_whitespace().take(LONGEST).enumerate() {
            let blank = (at > 0).then_some(' ');
            let room = LONGEST.saturating_sub(shown.chars().count());
            shown.extend(blank.into_iter().chain(word.chars()).take(room));
        }
        let definitions = self.definitions();
        let name_at = |at: usize| definitions.get(at).map(|definition| definition.name().as_str());
        let names = || Names::new(definitions.iter().map(|definition| definition.name().as_str()));
        let names = self.inner.names.get_or_init(names);
        let close = names.nearest(&shown, |at| name_at(at).unwrap_or_default());
        let close = close.iter().filter_map(|name| ToolName::new((*name).to_owned()).ok()).collect();
        ToolError::unknown_tool(shown, close)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.definitions().iter().map(ToolDefinition::name)).finish()
    }
}

fn warning(definition: &ToolDefinition) -> Option<Warning> {
    let undescribed = definition.description().trim().is_empty();
    undescribed.then(|| Warning::NoDescription { tool: definition.name().to_string() })
}
