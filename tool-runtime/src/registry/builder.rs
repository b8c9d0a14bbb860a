use std::{collections::BTreeSet, fmt, sync::Arc};

use tool_core::{
    __private::Handle, Dependency, ProvidedValues, Registration, RequestHook, SharedRequestHook,
    StaticToolSet, Tool,
};

use super::{
    BuildDiagnostic, BuildError, Registry, ToolFacts,
    build::Values,
    reserved::refuse_misnamed_output_tool,
    source::{AddedTool, Source},
};
use crate::{arguments::Repair, guard::discard};

/// Collects tools and their provided values, and builds a [`Registry`].
#[must_use = "a builder does nothing until `build` is called"]
#[derive(Default)]
pub struct RegistryBuilder {
    pub(super) sources: Vec<Source>,
    pub(super) replacements: Vec<Source>,
    pub(super) provided: ProvidedValues,
    pub(super) per_run: Vec<Dependency>,
    pub(super) expected: BTreeSet<String>,
    pub(super) strict: bool,
    pub(super) repair: Repair,
    pub(super) diagnostics: Vec<BuildDiagnostic>,
    pub(super) request_hooks: Vec<SharedRequestHook>,
    pub(super) output_tool: Option<AddedTool>,
    /// `true` if `discover` was called and found no tools.
    pub(super) nothing_discovered: bool,
}

impl RegistryBuilder {
    /// Adds all annotated functions that are linked into this program.
    ///
    /// A crate without any reference to it is not linked; see [`link!`](crate::link). If no tools are found, the registry
    /// has a [warning](Registry::diagnostics).
    ///
    /// # Examples
    ///
    /// ```standalone_crate
    /// use tool_runtime::prelude::*;
    ///
    /// // This program has no function with `#[tool]`.
    /// let tools = Registry::discover()?;
    /// let [warning] = tools.diagnostics() else { panic!("{:?}", tools.diagnostics()) };
    /// assert_eq!(warning.code, "nothing_discovered");
    /// assert!(warning.to_string().starts_with("warning: `discover()` found no tools"));
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    pub fn discover(mut self) -> Self {
        self.nothing_discovered = Registration::all().next().is_none();
        self.sources.extend(Registration::all().map(|registration| Source::Registration(*registration)));
        self
    }

    /// Adds one annotated function or struct, by its handle type.
    pub fn tool<T: Handle>(mut self /* no argument: write `.tool::<name>()` */) -> Self {
        self.sources.push(Source::Registration(*T::REGISTRATION));
        self
    }

    /// Adds a tool value.
    #[expect(clippy::should_implement_trait, reason = "it adds a tool, and is not arithmetic")]
    pub fn add(mut self, tool: impl Tool + 'static) -> Self {
        let added = self.read_tool(tool);
        self.sources.extend(added.map(Source::Tool));
        self
    }

    /// Replaces the tool of the same name, from any source, with a tool value. If there is no such tool,
    /// [`build`](Self::build) reports a problem, so that a test with a stand-in notices when the real tool is
    /// renamed.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::prelude::*;
    ///
    /// /// Sends a letter.
    /// #[tool]
    /// fn send(text: String) -> String {
    ///     format!("sent {text}")
    /// }
    ///
    /// #[tool_args]
    /// struct Letter {
    ///     text: String,
    /// }
    ///
    /// let fake = || ToolBuilder::new("send").description("Sends nothing.").body(tool_body!(|_: Letter| "not sent"));
    /// let tools = Registry::builder().tool::<send>().replace(fake()?).build()?;
    /// assert_eq!(tools.definitions()[0].description(), "Sends nothing.");
    /// assert!(Registry::builder().replace(fake()?).build().is_err());
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn replace(mut self, tool: impl Tool + 'static) -> Self {
        let added = self.read_tool(tool);
        self.replacements.extend(added.map(Source::Tool));
        self
    }

    /// Replaces a tool with an annotated function or struct, by its handle type; as [`replace`](Self::replace).
    pub fn replace_tool<T: Handle>(mut self) -> Self {
        self.replacements.push(Source::Registration(*T::REGISTRATION));
        self
    }

    /// Replaces tools with the methods of a value whose `impl` block has `#[toolset]`; as
    /// [`replace`](Self::replace).
    pub fn replace_toolset(mut self, set: impl StaticToolSet) -> Self {
        self.replacements.extend(Arc::new(set).tools().into_iter().map(Source::Method));
        self
    }

    /// Sets the tool by which a model submits its final output. Default: none. Its name must be
    /// [`OUTPUT_TOOL`](crate::registry::OUTPUT_TOOL), which is reserved for it.
    pub fn output_tool(mut self, tool: impl Tool + 'static) -> Self {
        if let Some(added) = self.read_tool(tool) {
            self.diagnostics.extend(refuse_misnamed_output_tool(added.facts.definition.name()));
            self.output_tool = Some(added);
        }
        self
    }

    /// Reads the definition of `tool`; a panic is a problem of the build.
    fn read_tool<T: Tool + 'static>(&mut self, tool: T) -> Option<AddedTool> {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        match ToolFacts::of(&*tool) {
            Ok(facts) => Some(AddedTool { tool, facts }),
            Err(message) => {
                discard(tool);
                let tool = std::any::type_name::<T>().to_owned();
                self.diagnostics.push(BuildDiagnostic::Panicked { tool, site: None, message });
                None
            }
        }
    }

    /// Adds the methods of a value whose `impl` block has `#[toolset]`.
    pub fn toolset(mut self, set: impl StaticToolSet) -> Self {
        self.sources.extend(Arc::new(set).tools().into_iter().map(Source::Method));
        self
    }

    /// Adds a request hook, which adds to every request with these tools without being a tool. Hooks run before
    /// the tools' own additions, in registration order; see
    /// [`BoundTools::build_request`](crate::dialect::BoundTools::build_request).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{RunContext, dialect::Dialect, prelude::*, request::request_fn};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let polite = request_fn(|request| async move {
    ///     request.instruct("Be kind.");
    ///     Ok(())
    /// });
    /// let tools = Registry::builder().request_hook(polite).build()?;
    /// let request = json!({ "model": "claude", "messages": [] });
    /// let request = Dialect::anthropic().bind_tools(&tools).build_request(request, RunContext::new()).await?;
    /// assert_eq!(request["system"], "Be kind.");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn request_hook(mut self, hook: impl RequestHook + 'static) -> Self {
        self.request_hooks.push(SharedRequestHook::new(hook));
        self
    }

    /// Provides `value` to all tools with a parameter of type `&T`.
    pub fn provide<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.provide_shared(Arc::new(value))
    }

    /// Provides `value` to all tools with a parameter of type `&T`, where `T` may be a trait object:
    /// `provide_shared::<dyn Store>(Arc::new(MyStore))`.
    pub fn provide_shared<T: ?Sized + Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        if self.provided.insert(value) {
            self.diagnostics.push(BuildDiagnostic::ProvidedTwice { type_name: std::any::type_name::<T>() });
        }
        self
    }

    /// Declares that each run provides its own value of type `T`, so that its absence is not a problem of the
    /// build.
    pub fn provide_per_run<T: ?Sized + Send + Sync + 'static>(mut self) -> Self {
        self.per_run.push(Dependency::of::<T>());
        self
    }

    /// Sets names of tools that must be present, to detect crates that were not linked.
    pub fn expect<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.expected.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets whether arguments that are almost right are rejected instead of coerced. Default: `false`. A tool's
    /// own `strict` key takes precedence.
    ///
    /// The coercions and their conditions are listed at [`CorrectionRule`](crate::schema::CorrectionRule); the
    /// corrections of a call are in [`ToolOutput::corrections`](crate::ToolOutput::corrections).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::prelude::*;
    ///
    /// /// Forecasts the weather.
    /// #[tool]
    /// fn forecast(days: u8) -> String {
    ///     format!("{days} sunny days")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let lenient = Registry::builder().tool::<forecast>().build()?;
    /// let reply = lenient.call("forecast", json!({ "days": "3" })).await?;
    /// assert_eq!(reply.text(), "3 sunny days");
    /// assert_eq!(reply.corrections()[0].to_string(), r#"/days: read "3" as 3"#);
    ///
    /// let strict = Registry::builder().tool::<forecast>().strict(true).build()?;
    /// let refused = strict.call("forecast", json!({ "days": "3" })).await.unwrap_err();
    /// assert_eq!(refused.violations()[0].to_string(), r#"/days: expected an integer, got "3""#);
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets which tools may run on repaired arguments: text that is not valid JSON but can be read as JSON
    /// without ambiguity. Default: [`Repair::Off`]. The repair is one of the
    /// [corrections](crate::ToolOutput::corrections) of the output.
    ///
    /// Text that was cut off is never run. An executor repairs the arguments of a call before any other step,
    /// so that hooks, events and open calls show the text that runs. See [`recover`] for the supported repairs;
    /// each call's text is parsed once more.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{prelude::*, schema::Repair};
    ///
    /// /// Forecasts the weather.
    /// #[tool(read_only)]
    /// fn forecast(city: String) -> String {
    ///     format!("Rain in {city}")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let tools = Registry::builder().tool::<forecast>().repair(Repair::ReadOnlyTools).build()?;
    /// let reply = tools.call("forecast", "{city: 'Oslo'}").await?;
    /// assert_eq!(reply.text(), "Rain in Oslo");
    /// assert_eq!(
    ///     reply.corrections()[0].to_string(),
    ///     r#"the arguments: read {city: 'Oslo'} as {"city":"Oslo"}"#
    /// );
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    ///
    /// [`recover`]: crate::schema::recover
    pub fn repair(mut self, repair: Repair) -> Self {
        self.repair = repair;
        self
    }

    /// Builds the registry: generates and compiles all schemas.
    ///
    /// # Errors
    ///
    /// Returns an error that lists every problem of the tools.
    pub fn build(self) -> Result<Registry, BuildError> {
        self.build_with(Values::Required)
    }

    /// Builds a registry to inspect: a missing provided value is not a problem. A call of a tool without its
    /// value fails.
    ///
    /// # Errors
    ///
    /// Returns an error that lists every other problem of the tools.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::prelude::*;
    ///
    /// struct Database;
    ///
    /// /// Counts the rows.
    /// #[tool]
    /// fn count(database: &Database) -> u64 {
    ///     0
    /// }
    ///
    /// assert!(Registry::builder().tool::<count>().build().is_err());
    /// let tools = Registry::builder().tool::<count>().build_without_values()?;
    /// assert_eq!(tools.definitions()[0].description(), "Counts the rows.");
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    pub fn build_without_values(self) -> Result<Registry, BuildError> {
        self.build_with(Values::Later)
    }
}

impl fmt::Debug for RegistryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.sources.iter().map(Source::name).collect();
        names.sort_unstable();
        f.debug_struct("RegistryBuilder").field("tools", &names).field("provided", &self.provided).finish()
    }
}
