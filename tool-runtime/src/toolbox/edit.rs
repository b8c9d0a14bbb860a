//! Changing a toolbox: each change is whole or none, and those who listen are told of it.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError},
};

use tool_core::{RequestHook, SharedRequestHook, Tool, ToolName};

use super::{Attached, Direct, Origin, State, Toolbox, ToolboxChange, ToolboxEvent, Visibility};
use crate::{
    ToolSet,
    panic_barrier::{caught, discard},
    registry::{BuildError, Entry, Problem, refuse_set},
    toolset::ToolSetNotifier,
};

impl Toolbox {
    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// If a direct tool of its name is there already, its name or set is reserved, or it cannot be used; nothing is changed.
    pub fn add(&self, tool: impl Tool + 'static) -> Result<(), BuildError> {
        self.insert(vec![self.compile(Arc::new(tool))?], false)
    }

    /// Adds several tools, all or none. An entry that is `None` is skipped.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add), also where two of them have one name. The error lists all that is wrong, and nothing is changed.
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

    /// Adds a tool that is part of how an agent works, such as one that hands a conversation over: no
    /// [`Visibility`] hides it.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    pub fn add_framework_tool(&self, tool: impl Tool + 'static) -> Result<(), BuildError> {
        self.insert(vec![self.compile(Arc::new(tool))?], true)
    }

    /// Adds the tool by which a model gives its final output, in place of the one that is there, and returns `true` if there
    /// was one. Its name is [`OUTPUT_TOOL`](crate::registry::OUTPUT_TOOL), which no other tool may have, and no [`Visibility`] hides
    /// it.
    ///
    /// # Errors
    ///
    /// If it has another name, or cannot be used; nothing is changed.
    pub fn set_output_tool(&self, tool: impl Tool + 'static) -> Result<bool, BuildError> {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        let entry = self.inner.base.compile_output_tool(&tool);
        discard(tool);
        Ok(self.put_tool(&entry?, true))
    }

    fn insert(&self, entries: Vec<Arc<Entry>>, framework: bool) -> Result<(), BuildError> {
        self.change(|state| {
            let mut taken: HashSet<_> =
                state.tools.iter().map(|it| it.entry.definition().name().clone()).collect();
            let added = added(&entries, &mut taken)?;
            state.tools.extend(entries.iter().map(|entry| Direct { entry: Arc::clone(entry), framework }));
            Ok(((), added))
        })
    }

    /// Adds a tool in place of the direct tool of its name, where there is one; says whether there was.
    ///
    /// # Errors
    ///
    /// If its name or set is reserved, or it cannot be used; nothing is changed.
    pub fn replace(&self, tool: impl Tool + 'static) -> Result<bool, BuildError> {
        Ok(self.put_tool(&self.compile(Arc::new(tool))?, false))
    }

    /// Puts a tool in the place of the one of its name, or else at the end; says whether there was one.
    fn put_tool(&self, entry: &Arc<Entry>, framework: bool) -> bool {
        self.changed(|state| {
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
            (is_replaced, vec![ToolboxEvent::tool(name, put_or_added(is_replaced))])
        })
    }

    /// Removes the direct tool `name`; says whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        self.changed(|state| {
            let removed = state.tools.extract_if(.., |it| it.is_named(name));
            let removed = removed.map(|it| gone(it.entry.definition().name())).collect::<Vec<_>>();
            (!removed.is_empty(), removed)
        })
    }

    /// Makes `tools` the direct tools, in place of all but those of the framework.
    ///
    /// # Errors
    ///
    /// If two have one name, a name or set is reserved, or one cannot be used; nothing is changed.
    pub fn set_tools(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<(), BuildError> {
        let entries = self.compile_all(tools)?;
        self.change(|state| {
            let (mut kept, gone_now): (Vec<_>, Vec<_>) =
                state.tools.iter().cloned().partition(|it| it.framework);
            let mut taken: HashSet<_> = kept.iter().map(|it| it.entry.definition().name().clone()).collect();
            let mut events: Vec<_> = gone_now.iter().map(|it| gone(it.entry.definition().name())).collect();
            events.extend(added(&entries, &mut taken)?);
            kept.extend(entries.iter().map(|entry| Direct { entry: Arc::clone(entry), framework: false }));
            state.tools = kept;
            Ok(((), settled(events)))
        })
    }

    /// Adds a set, in place of the set of its name, where there is one; says whether there was. A set that
    /// is replaced is not closed, and one without a name replaces none.
    ///
    /// # Errors
    ///
    /// If the name is [reserved](crate::registry::RESERVED_SETS); nothing is changed.
    pub fn add_toolset(&self, set: impl ToolSet + 'static) -> Result<bool, BuildError> {
        let attached = self.attach(Arc::new(set))?;
        let is_replaced = self.changed(|state| {
            let is_replaced = put(&mut state.toolsets, Arc::clone(&attached));
            (is_replaced, vec![ToolboxEvent::set(&attached.name, put_or_added(is_replaced))])
        });
        self.introduce(&attached);
        Ok(is_replaced)
    }

    /// Removes the sets of that name; says whether there was one. It is not closed.
    pub fn remove_toolset(&self, name: &str) -> bool {
        self.changed(|state| {
            let removed = state.toolsets.extract_if(.., |it| it.name == name);
            let removed: Vec<_> =
                removed.map(|it| ToolboxEvent::set(&it.name, ToolboxChange::Removed)).collect();
            (!removed.is_empty(), removed)
        })
    }

    /// Makes `sets` the sets, in place of all; of two with one name, the later. None is closed.
    ///
    /// # Errors
    ///
    /// If a name is [reserved](crate::registry::RESERVED_SETS); nothing is changed.
    pub fn set_toolsets(&self, sets: impl IntoIterator<Item = Arc<dyn ToolSet>>) -> Result<(), BuildError> {
        let mut toolsets = Vec::new();
        for set in sets {
            put(&mut toolsets, self.attach(set)?);
        }
        self.changed(|state| {
            let event = |change| move |it: &Arc<Attached>| ToolboxEvent::set(&it.name, change);
            let mut events: Vec<_> = state.toolsets.iter().map(event(ToolboxChange::Removed)).collect();
            events.extend(toolsets.iter().map(event(ToolboxChange::Added)));
            state.toolsets.clone_from(&toolsets);
            ((), settled(events))
        });
        toolsets.iter().for_each(|attached| self.introduce(attached));
        Ok(())
    }

    fn attach(&self, set: Arc<dyn ToolSet>) -> Result<Arc<Attached>, BuildError> {
        let attached = Arc::new(Attached::new(set));
        refuse_set(&attached.name).map_err(|problem| BuildError { problems: vec![problem] })?;
        Ok(attached)
    }

    /// Gives a set the means to announce its changes, which keep neither the toolbox nor the set.
    fn introduce(&self, attached: &Arc<Attached>) {
        let (toolbox, set) = (Arc::downgrade(&self.inner), Arc::downgrade(attached));
        let announcer = ToolSetNotifier::new(move || {
            if let (Some(inner), Some(set)) = (toolbox.upgrade(), set.upgrade()) {
                let toolbox = Self { inner };
                if toolbox.state().toolsets.iter().any(|it| Arc::ptr_eq(it, &set)) {
                    toolbox.announce(&set.name);
                }
            }
        });
        if let Err(message) = caught(|| attached.set.attached(announcer)) {
            let toolset = &attached.name;
            tracing::error!(toolset, message, "a set panicked when it was added to a toolbox");
        }
    }

    /// Adds what adds to every request of later snapshots, and is no tool itself. Hooks of the toolbox are asked after those
    /// of the [registry](crate::registry::RegistryBuilder::request_hook) that it is made of.
    pub fn request_hook(&self, hook: impl RequestHook + 'static) {
        let hook = SharedRequestHook::new(hook);
        self.set(|state| state.request_hooks.push(hook.clone()));
    }

    /// Says what all runs are shown, in place of what was said before; everything if nothing is said.
    pub fn show(&self, visibility: Visibility) {
        self.set(|state| state.visibility = visibility.clone());
    }

    /// Says whether a run has no tools at all where a set cannot list its own, or lists one that cannot be
    /// used. If nothing is said, such a set is used with what it listed last, and the run is told.
    pub fn strict_listing(&self, strict: bool) {
        self.set(|state| state.strict_listing = strict);
    }

    /// Says whether a run has no tools at all where two have one name, as it is if nothing is said.
    /// Otherwise it has the first, and is told of the others.
    pub fn strict_names(&self, strict: bool) {
        self.set(|state| state.strict_names = strict);
    }

    /// Tells those who [listen](Self::subscribe) that the set `toolset` has other tools than before. A set does so by itself
    /// with a [`ToolSetNotifier`].
    pub fn announce(&self, toolset: &str) {
        self.tell(vec![ToolboxEvent::set(toolset, ToolboxChange::Changed)]);
    }

    fn tell(&self, events: Vec<ToolboxEvent>) {
        if !events.is_empty() {
            self.inner.changes.send_replace(());
        }
        for event in events {
            // An error is that nobody listens.
            let _ = self.inner.events.send(event);
        }
    }

    /// Compiles `tool`, which is then held by what this gives alone, or not at all.
    fn compile(&self, tool: Arc<dyn Tool>) -> Result<Arc<Entry>, BuildError> {
        let entry = self.inner.base.compile(&tool);
        discard(tool);
        entry
    }

    /// Compiles all of `tools`; the error lists all that is wrong with any.
    fn compile_all(
        &self,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Vec<Arc<Entry>>, BuildError> {
        let (mut entries, mut problems) = (Vec::new(), Vec::new());
        for tool in tools {
            match self.compile(tool) {
                Ok(entry) => entries.push(entry),
                Err(error) => problems.extend(error.problems),
            }
        }
        if problems.is_empty() { Ok(entries) } else { Err(BuildError { problems }) }
    }

    fn set(&self, mut set: impl FnMut(&mut State)) {
        self.changed(|state| (set(state), vec![ToolboxEvent::Settings]));
    }

    /// As [`change`](Self::change), where nothing can be wrong.
    fn changed<T>(&self, mut change: impl FnMut(&mut State) -> (T, Vec<ToolboxEvent>)) -> T {
        match self.change(|state| Ok::<_, std::convert::Infallible>(change(state))) {
            Ok(said) => said,
            Err(never) => match never {},
        }
    }

    /// Makes a change, which says what it was, or that it was none. It puts copies into the state: what it holds itself, and
    /// what was in the state before, is dropped when the lock is free again.
    fn change<T, E>(
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
        let (said, events) = changed?;
        self.tell(events);
        Ok(said)
    }
}

/// The events of tools that are added to those whose names are `taken`.
fn added(entries: &[Arc<Entry>], taken: &mut HashSet<ToolName>) -> Result<Vec<ToolboxEvent>, BuildError> {
    let (mut events, mut problems) = (Vec::new(), Vec::new());
    for name in entries.iter().map(|entry| entry.definition().name()) {
        match taken.insert(name.clone()) {
            true => events.push(ToolboxEvent::tool(name, ToolboxChange::Added)),
            false => {
                let origins = vec![Origin::Direct, Origin::Direct];
                problems.push(Problem::SameName { name: name.to_string(), origins });
            }
        }
    }
    if problems.is_empty() { Ok(events) } else { Err(BuildError { problems }) }
}

fn gone(name: &ToolName) -> ToolboxEvent {
    ToolboxEvent::tool(name, ToolboxChange::Removed)
}

fn put_or_added(is_replaced: bool) -> ToolboxChange {
    if is_replaced { ToolboxChange::Replaced } else { ToolboxChange::Added }
}

/// Where the same thing was removed and added, it was replaced; nothing at all is a change of the settings.
fn settled(events: Vec<ToolboxEvent>) -> Vec<ToolboxEvent> {
    let is = |event: &ToolboxEvent, expected| {
        matches!(
            event,
            ToolboxEvent::Tool { change, .. } | ToolboxEvent::ToolSet { change, .. } if *change == expected
        )
    };
    let with = |event: &ToolboxEvent, change| match event {
        ToolboxEvent::Tool { name, .. } => ToolboxEvent::tool(name, change),
        // Sets without a name stand for themselves.
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

/// Puts a set in the place of the one of its name, or else at the end; says whether there was one.
fn put(sets: &mut Vec<Arc<Attached>>, set: Arc<Attached>) -> bool {
    let place = sets.iter_mut().find(|it| !set.name.is_empty() && it.name == set.name);
    let is_replaced = place.is_some();
    match place {
        Some(place) => *place = set,
        None => sets.push(set),
    }
    is_replaced
}
