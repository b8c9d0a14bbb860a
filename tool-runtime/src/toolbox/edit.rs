//! Changes of a toolbox: each is atomic and notifies the listeners.

mod tools;
mod toolsets;

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError},
};

use tool_core::{RequestHook, SharedRequestHook};

use super::{State, Toolbox, ToolboxChange, ToolboxEvent, Visibility};
use crate::guard::discard;

impl Toolbox {
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
    /// with a [`ToolSetNotifier`](crate::toolset::ToolSetNotifier).
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

    pub(super) fn change_settings(&self, set: impl FnOnce(&mut State)) {
        self.apply_change(|state| (set(state), vec![ToolboxEvent::Settings]));
    }

    /// Changes the state, and announces the events that the closure returns. It puts copies in: the values that it
    /// holds itself, and the previous state, are dropped after the lock is released.
    fn apply_change<T>(&self, change: impl FnOnce(&mut State) -> (T, Vec<ToolboxEvent>)) -> T {
        let before;
        let (value, events) = {
            let mut state = self.inner.state.write().unwrap_or_else(PoisonError::into_inner);
            before = Arc::clone(&state);
            change(Arc::make_mut(&mut state))
        };
        discard(before);
        self.send_events(events);
        value
    }
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
