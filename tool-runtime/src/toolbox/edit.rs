//! Changes of a toolbox: each is atomic and notifies the listeners.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError},
};

use tool_core::{RequestHook, SharedRequestHook, Tool, ToolName};

use super::{Attached, Direct, Origin, State, Toolbox, ToolboxChange, ToolboxEvent, Visibility};
use crate::{
    ToolSet,
    guard::{catch, discard},
    registry::{BuildDiagnostic, BuildError, Entry, refuse_reserved_set},
    toolset::ToolSetNotifier,
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

    /// Adds a tool that an agent needs to work, such as a transfer to another agent: no [`Visibility`] hides
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
    /// must be [`OUTPUT_TOOL`](crate::registry::OUTPUT_TOOL), which is reserved for it. No [`Visibility`] hides
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
        self.try_apply_change(|state| {
            let mut taken: HashSet<_> =
                state.tools.iter().map(|it| it.entry.definition().name().clone()).collect();
            let added = added_events(&entries, &mut taken)?;
            state.tools.extend(entries.iter().map(|entry| Direct { entry: Arc::clone(entry), framework }));
            Ok(((), added))
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

    /// Replaces the tool with the same name, or appends the tool; returns `true` if one was replaced.
    fn put_tool(&self, entry: &Arc<Entry>, framework: bool) -> bool {
        self.apply_change(|state| {
            let name = entry.definition().name();
            let place = state.tools.iter_mut().find(|it| it.is_named(name));
            let is_replaced = place.is_some();
            match place {
                Some(direct) => {
                    direct.entry = Arc::clone(entry);
                    direct.framework |= framework;
                }
                None => state.tools.push(Direct { entry: Arc::clone(entry), framework }),
            }
            (is_replaced, vec![ToolboxEvent::tool(name, replaced_or_added(is_replaced))])
        })
    }

    /// Removes the direct tool `name`. Returns `true` if there was one.
    pub fn remove(&self, name: &str) -> bool {
        self.apply_change(|state| {
            let removed = state.tools.extract_if(.., |it| it.is_named(name));
            let removed = removed.map(|it| removed_event(it.entry.definition().name())).collect::<Vec<_>>();
            (!removed.is_empty(), removed)
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
        self.try_apply_change(|state| {
            let (mut kept, gone_now): (Vec<_>, Vec<_>) =
                state.tools.iter().cloned().partition(|it| it.framework);
            let mut taken: HashSet<_> = kept.iter().map(|it| it.entry.definition().name().clone()).collect();
            let mut events: Vec<_> =
                gone_now.iter().map(|it| removed_event(it.entry.definition().name())).collect();
            events.extend(added_events(&entries, &mut taken)?);
            kept.extend(entries.iter().map(|entry| Direct { entry: Arc::clone(entry), framework: false }));
            state.tools = kept;
            Ok(((), combine_events(events)))
        })
    }

    /// Adds a toolset, or replaces the toolset with its name. Returns `true` if one was replaced. A replaced
    /// toolset is not closed; a toolset without a name replaces none.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is [reserved](crate::registry::RESERVED_SETS); nothing is changed then.
    pub fn add_toolset(&self, set: impl ToolSet + 'static) -> Result<bool, BuildError> {
        let attached = self.attach(Arc::new(set))?;
        let is_replaced = self.apply_change(|state| {
            let is_replaced = put_set(&mut state.toolsets, Arc::clone(&attached));
            (is_replaced, vec![ToolboxEvent::set(&attached.name, replaced_or_added(is_replaced))])
        });
        self.pass_notifier_to(&attached);
        Ok(is_replaced)
    }

    /// Removes the toolsets with that name, without closing them. Returns `true` if there was one.
    pub fn remove_toolset(&self, name: &str) -> bool {
        self.apply_change(|state| {
            let removed = state.toolsets.extract_if(.., |it| it.name == name);
            let removed: Vec<_> =
                removed.map(|it| ToolboxEvent::set(&it.name, ToolboxChange::Removed)).collect();
            (!removed.is_empty(), removed)
        })
    }

    /// Replaces all toolsets with `sets`; of two with the same name, the later one is kept. Replaced toolsets
    /// are not closed.
    ///
    /// # Errors
    ///
    /// Returns an error if a name is [reserved](crate::registry::RESERVED_SETS); nothing is changed then.
    pub fn set_toolsets(&self, sets: impl IntoIterator<Item = Arc<dyn ToolSet>>) -> Result<(), BuildError> {
        let mut toolsets = Vec::new();
        for set in sets {
            put_set(&mut toolsets, self.attach(set)?);
        }
        self.apply_change(|state| {
            let event = |change| move |it: &Arc<Attached>| ToolboxEvent::set(&it.name, change);
            let mut events: Vec<_> = state.toolsets.iter().map(event(ToolboxChange::Removed)).collect();
            events.extend(toolsets.iter().map(event(ToolboxChange::Added)));
            state.toolsets.clone_from(&toolsets);
            ((), combine_events(events))
        });
        toolsets.iter().for_each(|attached| self.pass_notifier_to(attached));
        Ok(())
    }

    fn attach(&self, set: Arc<dyn ToolSet>) -> Result<Arc<Attached>, BuildError> {
        let attached = Arc::new(Attached::new(set));
        refuse_reserved_set(&attached.name)
            .map_err(|diagnostic| BuildError { diagnostics: vec![diagnostic] })?;
        Ok(attached)
    }

    /// Passes a notifier to a toolset; the notifier holds neither the toolbox nor the toolset.
    fn pass_notifier_to(&self, attached: &Arc<Attached>) {
        let (toolbox, set) = (Arc::downgrade(&self.inner), Arc::downgrade(attached));
        let announcer = ToolSetNotifier::new(move || {
            if let (Some(inner), Some(set)) = (toolbox.upgrade(), set.upgrade()) {
                let toolbox = Self { inner };
                if toolbox.state().toolsets.iter().any(|it| Arc::ptr_eq(it, &set)) {
                    toolbox.announce(&set.name);
                }
            }
        });
        if let Err(panic) = catch(|| attached.set.attached(announcer)) {
            let (toolset, message) = (&attached.name, panic.message());
            tracing::error!(toolset, message, "a toolset panicked in `attached`");
        }
    }

    /// Adds a request hook to later snapshots. Hooks of the toolbox run after those of its
    /// [registry](crate::registry::RegistryBuilder::request_hook).
    pub fn request_hook(&self, hook: impl RequestHook + 'static) {
        let hook = SharedRequestHook::new(hook);
        self.change_settings(|state| state.request_hooks.push(hook.clone()));
    }

    /// Sets the visibility of tools in all runs. Default: all tools.
    pub fn show(&self, visibility: Visibility) {
        self.change_settings(|state| state.visibility = visibility.clone());
    }

    /// Sets whether a snapshot fails if a toolset cannot be listed or lists an invalid tool. Default: `false`;
    /// the toolset's last listing is used, and the snapshot has a notice.
    pub fn strict_listing(&self, strict: bool) {
        self.change_settings(|state| state.strict_listing = strict);
    }

    /// Sets whether a snapshot fails if two tools have the same name. Default: `true`. With `false`, the first
    /// tool is used, and the snapshot has a notice for each of the others.
    pub fn strict_names(&self, strict: bool) {
        self.change_settings(|state| state.strict_names = strict);
    }

    /// Notifies [listeners](Self::subscribe) that the tools of `toolset` changed. A toolset can do so itself
    /// with a [`ToolSetNotifier`].
    pub fn announce(&self, toolset: &str) {
        self.send_events(vec![ToolboxEvent::set(toolset, ToolboxChange::Changed)]);
    }

    fn send_events(&self, events: Vec<ToolboxEvent>) {
        if !events.is_empty() {
            self.inner.changes.send_replace(());
        }
        for event in events {
            // An error means that there are no listeners.
            let _ = self.inner.events.send(event);
        }
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

    pub(super) fn change_settings(&self, mut set: impl FnMut(&mut State)) {
        self.apply_change(|state| (set(state), vec![ToolboxEvent::Settings]));
    }

    /// Makes a change that cannot fail; as [`try_apply_change`](Self::try_apply_change).
    fn apply_change<T>(&self, mut change: impl FnMut(&mut State) -> (T, Vec<ToolboxEvent>)) -> T {
        match self.try_apply_change(|state| Ok::<_, std::convert::Infallible>(change(state))) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// Makes a change, which returns its events. The closure puts copies into the state: the values that it
    /// holds itself, and the previous state, are dropped after the lock is released.
    fn try_apply_change<T, E>(
        &self,
        mut change: impl FnMut(&mut State) -> Result<(T, Vec<ToolboxEvent>), E>,
    ) -> Result<T, E> {
        let before;
        let changed = {
            let mut state = self.inner.state.write().unwrap_or_else(PoisonError::into_inner);
            before = Arc::clone(&state);
            change(Arc::make_mut(&mut state))
        };
        discard(before);
        let (value, events) = changed?;
        self.send_events(events);
        Ok(value)
    }
}

/// Returns the events of added tools; names in `taken` are conflicts.
fn added_events(
    entries: &[Arc<Entry>],
    taken: &mut HashSet<ToolName>,
) -> Result<Vec<ToolboxEvent>, BuildError> {
    let (mut events, mut diagnostics) = (Vec::new(), Vec::new());
    for name in entries.iter().map(|entry| entry.definition().name()) {
        match taken.insert(name.clone()) {
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

fn replaced_or_added(is_replaced: bool) -> ToolboxChange {
    if is_replaced { ToolboxChange::Replaced } else { ToolboxChange::Added }
}

/// Combines removal and addition of the same item to a replacement; no events at all mean a change of the
/// settings.
fn combine_events(events: Vec<ToolboxEvent>) -> Vec<ToolboxEvent> {
    let is = |event: &ToolboxEvent, expected| {
        matches!(
            event,
            ToolboxEvent::Tool { change, .. } | ToolboxEvent::ToolSet { change, .. } if *change == expected
        )
    };
    let with = |event: &ToolboxEvent, change| match event {
        ToolboxEvent::Tool { name, .. } => ToolboxEvent::tool(name, change),
        // Toolsets without a name are not combined.
        ToolboxEvent::ToolSet { name, .. } if !name.is_empty() => ToolboxEvent::set(name, change),
        other => other.clone(),
    };
    let known: HashSet<_> = events.iter().cloned().collect();
    let settled: Vec<_> = events
        .iter()
        .filter(|event| {
            !(is(event, ToolboxChange::Removed) && known.contains(&with(event, ToolboxChange::Added)))
        })
        .map(|event| {
            match is(event, ToolboxChange::Added) && known.contains(&with(event, ToolboxChange::Removed)) {
                true => with(event, ToolboxChange::Replaced),
                false => event.clone(),
            }
        })
        .collect();
    if settled.is_empty() { vec![ToolboxEvent::Settings] } else { settled }
}

/// Replaces the toolset with the same name, or appends the toolset; returns `true` if one was replaced.
fn put_set(sets: &mut Vec<Arc<Attached>>, set: Arc<Attached>) -> bool {
    let place = sets.iter_mut().find(|it| !set.name.is_empty() && it.name == set.name);
    let is_replaced = place.is_some();
    match place {
        Some(place) => *place = set,
        None => sets.push(set),
    }
    is_replaced
}
