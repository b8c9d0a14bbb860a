//! The tools of a run, as seen by its tools.

use std::{collections::HashMap, fmt, sync::Arc};

use tool_core::{ToolDefinition, ToolName};

use super::{Entry, OUTPUT_TOOL, Origin, Registry, RegistrySettings, deferral::Deferral};
use crate::guard::catch;

/// The origins of tools by name.
pub(crate) type Origins = HashMap<ToolName, Origin>;

/// The tools available beside a call, for tools that need to know them: a parameter of type `&AvailableTools`,
/// or [`ToolContext::get`](tool_core::ToolContext::get). No program has to provide it. Cheap to clone.
///
/// Contains the tools of the registry that makes the call; in a run, the tools of its snapshot that are visible
/// to it.
///
/// # Examples
///
/// ```
/// use tool_runtime::{prelude::*, registry::AvailableTools};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// /// Lists the available tools.
/// #[tool]
/// fn help(tools: &AvailableTools) -> Vec<String> {
///     tools.definitions().iter().map(|it| format!("{}: {}", it.name(), it.description())).collect()
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let tools = Registry::builder().tool::<add>().tool::<help>().build()?;
/// let reply = tools.call("help", "{}").await?;
/// assert_eq!(reply.text(), r#"["add: Adds two numbers.","help: Lists the available tools."]"#);
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct AvailableTools {
    /// Sorted by name.
    definitions: Arc<[ToolDefinition]>,
    origins: Option<Arc<Origins>>,
    /// The tools, in the order of the definitions.
    entries: Arc<[Arc<Entry>]>,
    settings: Arc<RegistrySettings>,
    deferral: Option<Arc<Deferral>>,
}

impl AvailableTools {
    pub(super) fn new(
        definitions: Vec<ToolDefinition>,
        origins: Option<Arc<Origins>>,
        entries: &Arc<[Arc<Entry>]>,
        settings: &Arc<RegistrySettings>,
        deferral: Option<Arc<Deferral>>,
    ) -> Self {
        let (entries, settings) = (Arc::clone(entries), Arc::clone(settings));
        Self { definitions: definitions.into(), origins, entries, settings, deferral }
    }

    /// Returns the definitions, sorted by name.
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.definitions
    }

    /// Returns the definition of the tool with that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ToolDefinition> {
        let at = self.definitions.binary_search_by(|it| it.name().as_str().cmp(name)).ok()?;
        self.definitions.get(at)
    }

    /// Returns the origin of the tool with that name, as recorded in its
    /// [`Snapshot`](crate::toolbox::Snapshot). A tool of a registry outside a toolbox is
    /// [`Direct`](Origin::Direct).
    #[must_use]
    pub fn origin(&self, name: &str) -> Option<&Origin> {
        const DIRECT: &Origin = &Origin::Direct;
        self.get(name)?;
        let known = self.origins.as_ref().and_then(|origins| origins.get(name));
        Some(known.unwrap_or(DIRECT))
    }

    /// Returns the tools that another run may be given, with the values that the program provides to them: those
    /// of the program that pass `keeps`, without tools of the framework, `submit_output`, and external tools, which
    /// have no body here. A [deferred](Registry::with_deferred) tool stays one.
    ///
    /// An executor of these tools has none of the rules of the calls beside which they are available: add the
    /// [guards](crate::executor::CallGuards) of the call.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{prelude::*, registry::AvailableTools};
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// /// Computes 2 + 3 with another tool.
    /// #[tool]
    /// async fn compute(tools: &AvailableTools) -> Result<String, ToolError> {
    ///     let others = tools.user_tools(|tool| tool.name().as_str() != "compute");
    ///     Ok(others.call("add", json!({ "a": 2, "b": 3 })).await?.text().into_owned())
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let tools = Registry::builder().tool::<add>().tool::<compute>().build()?;
    /// assert_eq!(tools.call("compute", "{}").await?.text(), "5");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn user_tools(&self, mut keeps: impl FnMut(&ToolDefinition) -> bool) -> Registry {
        let mut is_offered = |entry: &Entry| {
            let name = entry.definition().name().as_str();
            let is_user_tool = self.origin(name).is_some_and(Origin::is_user_tool) && name != OUTPUT_TOOL;
            // A tool that cannot tell is not passed on.
            let is_external = || catch(|| entry.tool().is_external()).unwrap_or(true);
            is_user_tool && !is_external() && keeps(entry.definition())
        };
        let entries: Vec<_> = self.entries.iter().filter(|entry| is_offered(entry)).cloned().collect();
        // A model may call a tool that it is not given, too.
        let has_secret = self.entries.iter().any(|entry| entry.has_secret());
        let (settings, deferral) = (Arc::clone(&self.settings), self.deferral.as_deref());
        Registry::from_entries(entries, settings, Vec::new(), self.origins.clone(), has_secret, deferral)
    }

    pub(super) fn origins(&self) -> Option<&Arc<Origins>> {
        self.origins.as_ref()
    }
}

impl Registry {
    /// Returns the origin of the tool with that name: as recorded in the [`Snapshot`](crate::toolbox::Snapshot)
    /// of this registry, or [`Direct`](Origin::Direct).
    #[must_use]
    pub fn origin(&self, name: &str) -> Option<&Origin> {
        self.inner.available.origin(name)
    }
}

impl fmt::Debug for AvailableTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.definitions.iter().map(ToolDefinition::name)).finish()
    }
}
