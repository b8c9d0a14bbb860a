//! Tools that calls reach and no request lists.

use std::{collections::HashSet, sync::Arc};

#[cfg(feature = "executor")]
use tool_core::{SharedRequestHook, Tool};
use tool_core::{ToolDefinition, ToolName};

use super::Registry;
#[cfg(feature = "executor")]
use super::{BuildError, Entry, Origins, reserved::refuse_reserved_tool};

/// The names of deferred tools, and the definitions of the others.
pub(super) struct Deferral {
    names: Arc<HashSet<ToolName>>,
    /// Sorted by name.
    pub(super) listed: Box<[ToolDefinition]>,
}

impl Deferral {
    /// Returns the deferral of the same names among `definitions`; `None` if it defers none of them.
    pub(super) fn restricted_to(&self, definitions: &[ToolDefinition]) -> Option<Self> {
        Self::new(Arc::clone(&self.names), definitions)
    }

    /// Returns the deferral of the names of both; `None` if there are none.
    pub(super) fn union(one: Option<&Self>, other: Option<&Self>) -> Option<Self> {
        let names = match (one, other) {
            (Some(one), Some(other)) => Arc::new(one.names.union(&other.names).cloned().collect()),
            (Some(single), None) | (None, Some(single)) => Arc::clone(&single.names),
            (None, None) => return None,
        };
        Some(Self { names, listed: Box::default() })
    }

    fn new(names: Arc<HashSet<ToolName>>, definitions: &[ToolDefinition]) -> Option<Self> {
        let listed: Box<[_]> = definitions.iter().filter(|it| !names.contains(it.name())).cloned().collect();
        (listed.len() < definitions.len()).then_some(Self { names, listed })
    }
}

impl Registry {
    /// Returns the same tools, of which those that `is_deferred` selects are deferred: calls reach them, and
    /// [`definitions`](Self::definitions) does not list them, so that no request shows them to a model. A deferred tool of
    /// this registry stays one.
    ///
    /// A model finds them by a tool that searches [all definitions](super::AvailableTools::definitions), and calls them by
    /// a tool that [redirects](tool_core::Tool::redirect). Deferral saves tokens; it is not a permission.
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
    /// let tools = Registry::builder().tool::<add>().build()?.with_deferred(|tool| tool.name() == "add");
    /// assert!(tools.definitions().is_empty());
    /// assert_eq!(tools.call("add", json!({ "a": 2, "b": 3 })).await?.text(), "5");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn with_deferred(&self, mut is_deferred: impl FnMut(&ToolDefinition) -> bool) -> Self {
        let all = self.all_definitions();
        let names = all.iter().filter(|it| self.is_deferred(it.name().as_str()) || is_deferred(it));
        let names = Arc::new(names.map(|it| it.name().clone()).collect());
        let deferral = Deferral { names, listed: Box::default() };
        self.with_entries_and_deferral(self.entries().to_vec(), Some(&deferral))
    }

    /// Returns the same tools, of which none is deferred.
    #[doc(hidden)]
    #[must_use]
    pub fn without_deferral(&self) -> Self {
        self.with_entries_and_deferral(self.entries().to_vec(), None)
    }

    /// Returns `true` if the registry has a tool of that name that is [deferred](Self::with_deferred).
    #[must_use]
    pub fn is_deferred(&self, name: &str) -> bool {
        let names = self.inner.deferral.as_ref().map(|deferral| &deferral.names);
        names.is_some_and(|names| names.contains(name)) && self.entry(name).is_some()
    }
}

#[cfg(feature = "executor")]
impl Registry {
    /// Returns the names of the deferred tools.
    pub(crate) fn deferred_names(&self) -> Option<&Arc<HashSet<ToolName>>> {
        self.inner.deferral.as_ref().map(|deferral| &deferral.names)
    }

    /// Returns a registry as [`with_entries_and_hooks`](Self::with_entries_and_hooks) does, of which the tools with the names in `deferred` are deferred.
    pub(crate) fn of_snapshot(
        &self,
        entries: Vec<Arc<Entry>>,
        hooks: &[SharedRequestHook],
        origins: Origins,
        hides_secret: bool,
        deferred: HashSet<ToolName>,
    ) -> Self {
        let deferral = Deferral { names: Arc::new(deferred), listed: Box::default() };
        self.with_origins(entries, hooks, origins, hides_secret, Some(&deferral))
    }

    /// Compiles `tool` as [`compile`](Self::compile) does. If `is_deferred` returns `true`, its schemas are compiled by its first call,
    /// which mistakes in them fail.
    pub(crate) fn compile_unless_deferred(
        &self,
        tool: &Arc<dyn Tool>,
        is_deferred: impl FnOnce(&ToolName) -> bool,
    ) -> Result<Arc<Entry>, BuildError> {
        self.compile_unless(
            tool,
            refuse_reserved_tool,
            |tool, facts, lenience, diagnostics| match is_deferred(facts.definition.name()) {
                true => Some(Entry::uncompiled(tool, facts, lenience, diagnostics)),
                false => Entry::new(tool, facts, lenience, diagnostics),
            },
        )
    }
}
