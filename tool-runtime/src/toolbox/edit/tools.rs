//! Direct tools: addition, replacement, removal.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError},
};

use tool_core::{Tool, ToolName};

use super::{combine_events, replaced_or_added};
use crate::{
    guard::discard,
    registry::{BuildDiagnostic, BuildError, Entry, Origin},
    toolbox::{Direct, DirectTools, Toolbox, ToolboxChange, ToolboxEvent},
};

impl Toolbox {
    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// Returns an error if there is a direct tool with its name, if its name or toolset is reserved, or if it
    /// is invalid; nothing is changed then.
    pub fn add(&self, tool: impl Tool + 'static) -> Result<(), BuildError> {
        self.insert(vec![self.compile(Arc::new(tool))?], false)
    }

    /// Adds several tools, all or none. `None` entries are skipped.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add); also if two of the tools have the same name. The error lists all problems, and
    /// nothing is changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use tool_runtime::{RunContext, Tool, Toolbox, prelude::*};
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// let tools = Registry::builder().tool::<add>().build()?;
    /// let add: Option<Arc<dyn Tool>> = tools.get("add").cloned();
    /// let toolbox = Toolbox::new();
    /// assert!(toolbox.add_all([add.clone(), add.clone()]).is_err());
    /// toolbox.add_all([add, None])?;
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    pub fn add_all<T: Into<Option<Arc<dyn Tool>>>>(
        &self,
        tools: impl IntoIterator<Item = T>,
    ) -> Result<(), BuildError> {
        self.insert(self.compile_all(tools.into_iter().filter_map(Into::into))?, false)
    }

    /// Adds a tool that an agent needs to work, such as a transfer to another agent: no [`Visibility`](crate::toolbox::Visibility) hides
    /// it.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    pub fn add_framework_tool(&self, tool: impl Tool + 'static) -> Result<(), BuildError> {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        let entry = self.inner.base.compile(&tool);
        discard(tool);
        self.insert(vec![entry?], true)
    }

    /// Sets the tool by which a model submits its final output, and returns `true` if it replaced one. Its name
    /// must be [`OUTPUT_TOOL`](crate::registry::OUTPUT_TOOL), which is reserved for it. No [`Visibility`](crate::toolbox::Visibility) hides
    /// it.
    ///
    /// # Errors
    ///
    /// Returns an error if it has another name or is invalid; nothing is changed then.
    pub fn set_output_tool(&self, tool: impl Tool + 'static) -> Result<bool, BuildError> {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        let entry = self.inner.base.compile_output_tool(&tool);
        discard(tool);
        Ok(self.put_tool(&entry?, true))
    }

    fn insert(&self, entries: Vec<Arc<Entry>>, framework: bool) -> Result<(), BuildError> {
        self.try_change_tools(|tools| {
            let added = added_events(&entries, tools)?;
            tools.extend(named_tools(&entries, framework));
            Ok(ToolsChange { value: (), events: added, removed: DirectTools::new() })
        })
    }

    /// Adds a tool, or replaces the direct tool with its name. Returns `true` if one was replaced.
    ///
    /// # Errors
    ///
    /// Returns an error if its name or toolset is reserved, or if it is invalid; nothing is changed then.
    pub fn replace(&self, tool: impl Tool + 'static) -> Result<bool, BuildError> {
        Ok(self.put_tool(&self.compile(Arc::new(tool))?, false))
    }

    /// Adds the tool, or replaces the one with its name; returns `true` if one was replaced.
    fn put_tool(&self, entry: &Arc<Entry>, framework: bool) -> bool {
        self.change_tools(|tools| {
            let name = entry.definition().name();
            let framework = framework || tools.get(name).is_some_and(|replaced| replaced.framework);
            let replaced = tools.insert(name.clone(), Direct { entry: Arc::clone(entry), framework });
            let is_replaced = replaced.is_some();
            let removed = replaced.map(|replaced| (name.clone(), replaced)).into_iter().collect();
            let events = vec![ToolboxEvent::tool(name, replaced_or_added(is_replaced))];
            ToolsChange { value: is_replaced, events, removed }
        })
    }

    /// Removes the direct tool `name`. Returns `true` if there was one.
    pub fn remove(&self, name: &str) -> bool {
        self.change_tools(|tools| {
            let removed: DirectTools = tools.remove_entry(name).into_iter().collect();
            let events = removed.keys().map(removed_event).collect();
            ToolsChange { value: !removed.is_empty(), events, removed }
        })
    }

    /// Replaces all direct tools, except framework tools, with `tools`.
    ///
    /// # Errors
    ///
    /// Returns an error if two tools have the same name, if a name or toolset is reserved, or if a tool is
    /// invalid; nothing is changed then.
    pub fn set_tools(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<(), BuildError> {
        let entries = self.compile_all(tools)?;
        self.try_change_tools(|tools| {
            let mut next = tools.clone();
            next.retain(|_, direct| direct.framework);
            let added = added_events(&entries, &next)?;
            let replaced = tools.iter().filter(|(_, direct)| !direct.framework);
            let mut events: Vec<_> = replaced.map(|(name, _)| removed_event(name)).collect();
            events.extend(added);
            next.extend(named_tools(&entries, false));
            let removed = std::mem::replace(tools, next);
            Ok(ToolsChange { value: (), events: combine_events(events), removed })
        })
    }

    /// Compiles `tool`, unless it is deferred; only the result holds the tool afterwards.
    fn compile(&self, tool: Arc<dyn Tool>) -> Result<Arc<Entry>, BuildError> {
        let state = self.state();
        let is_deferred = |name: &ToolName| state.deferral.is_deferred(name);
        let entry = self.inner.base.compile_unless_deferred(&tool, is_deferred);
        discard(tool);
        entry
    }

    /// Compiles all of `tools`; the error lists all problems.
    fn compile_all(
        &self,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Vec<Arc<Entry>>, BuildError> {
        let (mut entries, mut diagnostics) = (Vec::new(), Vec::new());
        for tool in tools {
            match self.compile(tool) {
                Ok(entry) => entries.push(entry),
                Err(error) => diagnostics.extend(error.diagnostics),
            }
        }
        if diagnostics.is_empty() { Ok(entries) } else { Err(BuildError { diagnostics }) }
    }

    /// Makes a change of the direct tools that cannot fail; as [`try_change_tools`](Self::try_change_tools).
    fn change_tools<T>(&self, change: impl FnOnce(&mut DirectTools) -> ToolsChange<T>) -> T {
        match self.try_change_tools(|tools| Ok::<_, std::convert::Infallible>(change(tools))) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// Changes the direct tools in place, or a copy of them while a snapshot reads them. The closure changes
    /// nothing if it fails, and puts copies in: the values that it holds itself, and the tools that it removed,
    /// are dropped after the lock is released.
    fn try_change_tools<T, E>(
        &self,
        change: impl FnOnce(&mut DirectTools) -> Result<ToolsChange<T>, E>,
    ) -> Result<T, E> {
        let changed = {
            let mut state = self.inner.state.write().unwrap_or_else(PoisonError::into_inner);
            change(Arc::make_mut(&mut Arc::make_mut(&mut state).tools))
        };
        let ToolsChange { value, events, removed } = changed?;
        discard(removed);
        self.send_events(events);
        Ok(value)
    }
}

/// A change of the direct tools.
struct ToolsChange<T> {
    value: T,
    events: Vec<ToolboxEvent>,
    /// The tools that are no longer in the toolbox.
    removed: DirectTools,
}

/// Returns copies of compiled tools with their names.
fn named_tools(entries: &[Arc<Entry>], framework: bool) -> impl Iterator<Item = (ToolName, Direct)> {
    entries
        .iter()
        .map(move |entry| (entry.definition().name().clone(), Direct { entry: Arc::clone(entry), framework }))
}

/// Returns the events of tools that are added to `others`; equal names are conflicts.
fn added_events(entries: &[Arc<Entry>], others: &DirectTools) -> Result<Vec<ToolboxEvent>, BuildError> {
    let (mut events, mut diagnostics) = (Vec::new(), Vec::new());
    let mut added = HashSet::new();
    for name in entries.iter().map(|entry| entry.definition().name()) {
        match added.insert(name) && !others.contains_key(name) {
            true => events.push(ToolboxEvent::tool(name, ToolboxChange::Added)),
            false => {
                let origins = vec![Origin::Direct, Origin::Direct];
                diagnostics.push(BuildDiagnostic::SameName { name: name.to_string(), origins });
            }
        }
    }
    if diagnostics.is_empty() { Ok(events) } else { Err(BuildError { diagnostics }) }
}

fn removed_event(name: &ToolName) -> ToolboxEvent {
    ToolboxEvent::tool(name, ToolboxChange::Removed)
}
