//! The tools of a toolbox that are deferred in its snapshots.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use tool_core::ToolName;

use super::{Origin, Toolbox};
use crate::{
    guard::catch,
    registry::{BuildError, Entry, OUTPUT_TOOL},
};

/// The names of deferred tools.
#[derive(Clone, Default)]
pub(super) struct ToolboxDeferral {
    /// Those of the registry from which the toolbox was made, for as long as `listed` is not set.
    names: Option<Arc<HashSet<ToolName>>>,
    /// If set, all tools are deferred but those with these names.
    listed: Option<Arc<BTreeSet<String>>>,
}

impl ToolboxDeferral {
    pub(super) fn of_names(names: Option<&Arc<HashSet<ToolName>>>) -> Self {
        Self { names: names.cloned(), listed: None }
    }

    /// Returns `true` if a tool of the user with this name is deferred.
    pub(super) fn is_deferred(&self, name: &ToolName) -> bool {
        match &self.listed {
            Some(listed) => !listed.contains(name.as_str()),
            None => self.names.as_ref().is_some_and(|names| names.contains(name)),
        }
    }

    /// Returns `true` if the tool is deferred: its name is, and no request needs it.
    pub(super) fn defers(&self, entry: &Entry, origin: &Origin) -> bool {
        let name = entry.definition().name();
        let is_external = || catch(|| entry.tool().is_external()).unwrap_or(true);
        self.is_deferred(name) && origin.is_user_tool() && *name != *OUTPUT_TOOL && !is_external()
    }
}

impl Toolbox {
    /// [Defers](crate::Registry::with_deferred) the tools in later snapshots, but those with the names in `listed`: calls reach them,
    /// and no request lists them. Tools of the framework, the output tool and external tools are never deferred. Default: the tools
    /// that are deferred in the registry [from which](Self::from_registry) the toolbox was made.
    ///
    /// The schemas of a deferred tool that is added later are compiled by its first call, once for all snapshots: of thousands of
    /// tools, only those are compiled that a model chooses. A mistake in them fails the calls of the tool, and the tool is dropped from
    /// later snapshots, with a diagnostic; [`check_deferred`](Self::check_deferred) finds those of direct tools. Other mistakes, such as a
    /// reserved name, are found when a tool is added. The tools of a set that lists new ones each time, and the additional tools of a run,
    /// are new tools of each snapshot.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{RunContext, Toolbox, prelude::*};
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let toolbox = Toolbox::new();
    /// toolbox.defer_all_except(["search_tools", "call_tool"]);
    /// toolbox.add_all(Registry::builder().tool::<add>().build()?.get("add").cloned())?;
    /// let snapshot = toolbox.snapshot(&RunContext::new()).await?;
    /// assert!(snapshot.tools().definitions().is_empty());
    /// assert_eq!(snapshot.tools().call("add", json!({ "a": 2, "b": 3 })).await?.text(), "5");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn defer_all_except<N: Into<String>>(&self, listed: impl IntoIterator<Item = N>) {
        let listed: Arc<BTreeSet<String>> = Arc::new(listed.into_iter().map(Into::into).collect());
        self.change_settings(|state| state.deferral.listed = Some(Arc::clone(&listed)));
    }

    /// Compiles the schemas of all direct tools that [are deferred](Self::defer_all_except) and were not called yet: for a test of the
    /// program.
    ///
    /// # Errors
    ///
    /// Returns all mistakes in them.
    pub fn check_deferred(&self) -> Result<(), BuildError> {
        let state = self.state();
        let mistakes = state.tools.values().filter_map(|direct| direct.entry.compiled().err());
        let diagnostics: Vec<_> = mistakes.flatten().cloned().collect();
        if diagnostics.is_empty() { Ok(()) } else { Err(BuildError { diagnostics }) }
    }
}
