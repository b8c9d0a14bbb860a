//! Registries with tools of the framework.

use std::{collections::BTreeMap, sync::Arc};

use tool_core::SharedRequestHook;

use super::{BuildError, Origin, Origins, Registry};
use crate::toolbox::RunDiagnostic;

impl Registry {
    /// Returns a registry with the tools of `more` as tools of the [framework](Origin::Framework), which no
    /// [`Visibility`](crate::toolbox::Visibility) hides, and more request hooks. A tool of this registry with the name of one of them is
    /// dropped, with a diagnostic.
    ///
    /// # Errors
    ///
    /// Returns an error if one of `more` has a reserved name.
    #[doc(hidden)]
    pub fn with_framework_tools(
        &self,
        more: &[Self],
        hooks: &[SharedRequestHook],
    ) -> Result<(Self, Vec<RunDiagnostic>), BuildError> {
        let mut entries: BTreeMap<_, _> = self
            .inner
            .entries
            .iter()
            .map(|entry| (entry.definition().name().clone(), Arc::clone(entry)))
            .collect();
        let mut origins = self.inner.available.origins().map(|it| Origins::clone(it)).unwrap_or_default();
        let mut dropped = Vec::new();
        for tool in more.iter().flat_map(|it| it.inner.entries.iter()) {
            let name = tool.definition().name().clone();
            let entry = self.compile(tool.tool())?;
            let origin = origins.insert(name.clone(), Origin::Framework).unwrap_or(Origin::Direct);
            if entries.insert(name.clone(), entry).is_some() {
                dropped.push(RunDiagnostic::Dropped { name, origin, taken_by: Origin::Framework });
            }
        }
        let entries = entries.into_values().collect();
        Ok((self.with_entries_and_hooks(entries, hooks, origins, false), dropped))
    }
}
