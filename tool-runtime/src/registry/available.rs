//! The tools of a run, as seen by its tools.

use std::{collections::HashMap, fmt, sync::Arc};

use tool_core::{ToolDefinition, ToolName};

use super::Origin;
use super::Registry;

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
}

impl AvailableTools {
    pub(super) fn new(definitions: Vec<ToolDefinition>, origins: Option<Arc<Origins>>) -> Self {
        Self { definitions: definitions.into(), origins }
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
