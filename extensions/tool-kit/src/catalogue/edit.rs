//! Changes of a catalogue: each is atomic and notifies the listeners.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError},
};

use tool_runtime::{ToolError, guard::discard};

use super::{
    Catalogue, CatalogueChange, CatalogueEvent, CatalogueInner, ItemKind, State,
    key::{canonical_key, shown_key},
};
use crate::{prompt::Prompt, resource::ReadableResource};

impl Catalogue {
    /// Adds a prompt of the program.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Conflict` if there is one of its name.
    pub fn add_prompt(&self, prompt: impl Prompt) -> Result<(), ToolError> {
        self.add_prompts([Arc::new(prompt) as Arc<dyn Prompt>])
    }

    /// Adds several prompts of the program, all or none. `None` entries are skipped.
    ///
    /// # Errors
    ///
    /// As [`add_prompt`](Self::add_prompt); also if two of them have the same name. Nothing is changed then.
    pub fn add_prompts<P: Into<Option<Arc<dyn Prompt>>>>(
        &self,
        prompts: impl IntoIterator<Item = P>,
    ) -> Result<(), ToolError> {
        let mut named: Vec<(Arc<str>, _)> = Vec::new();
        for prompt in prompts.into_iter().filter_map(Into::into) {
            named.push((Arc::from(prompt.definition().name()), prompt));
        }
        if named.is_empty() {
            return Ok(());
        }
        let mut names = HashSet::new();
        self.change_items_and_announce(|state| {
            if let Some((name, _)) =
                named.iter().find(|(name, _)| !names.insert(name) || state.prompts.contains_key(name))
            {
                return Err(ToolError::conflict(format!(
                    "there is a prompt `{name}`; remove it, or give this one another name"
                )));
            }
            Arc::make_mut(&mut state.prompts).extend(named.iter().cloned());
            Ok(((), vec![CatalogueEvent::new(None, CatalogueChange::Prompts)], ()))
        })
    }

    /// Adds a resource of the program, or replaces the one with an equal URI. Returns `true` if one was replaced.
    pub fn add_resource(&self, resource: impl ReadableResource) -> bool {
        // One alone has the URI of no other one.
        let added = self.add_resources([Arc::new(resource) as Arc<dyn ReadableResource>]);
        added.is_ok_and(|replaced| replaced > 0)
    }

    /// Adds several resources of the program, all or none, and replaces those with equal URIs. Returns the number of those that were replaced.
    /// `None` entries are skipped.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Conflict` if two of them have equal URIs. Nothing is changed then.
    pub fn add_resources<R: Into<Option<Arc<dyn ReadableResource>>>>(
        &self,
        resources: impl IntoIterator<Item = R>,
    ) -> Result<usize, ToolError> {
        let (mut addressed, mut seen) = (Vec::new(), HashSet::new());
        for resource in resources.into_iter().filter_map(Into::into) {
            let uri: Arc<str> = resource.uri().normalized().into();
            if !seen.insert(Arc::clone(&uri)) {
                let shown = shown_key(&uri);
                return Err(ToolError::conflict(format!(
                    "the resource `{shown}` is added twice; add it once"
                )));
            }
            addressed.push((uri, resource.uri().to_string(), resource));
        }
        self.change_items_and_announce(|state| {
            let (mut events, mut is_new, mut replaced) = (Vec::new(), false, Vec::new());
            let resources = Arc::make_mut(&mut state.resources);
            for (key, uri, resource) in addressed {
                match resources.insert(key, resource) {
                    None => is_new = true,
                    Some(resource) => {
                        replaced.push(resource);
                        events.push(CatalogueEvent::new(None, CatalogueChange::Resource { uri }));
                    }
                }
            }
            if is_new {
                events.insert(0, CatalogueEvent::new(None, CatalogueChange::Resources));
            }
            Ok((replaced.len(), events, replaced))
        })
    }

    /// Removes an item of the program by its name or URI, and returns its kind: a tool, or else a prompt, or else a resource.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `BadParameter` for a text that is no key, and of kind `NotFound` if there is no such item.
    pub fn remove(&self, key: &str) -> Result<ItemKind, ToolError> {
        let name = canonical_key(key)?;
        if self.tools().remove(&name) {
            return Ok(ItemKind::Tool);
        }
        self.change_items_and_announce(|state| {
            let prompt = Arc::make_mut(&mut state.prompts).remove(&*name);
            let resource = match prompt {
                Some(_) => None,
                None => Arc::make_mut(&mut state.resources).remove(&*name),
            };
            let (kind, change) = match (&prompt, &resource) {
                (Some(_), _) => (ItemKind::Prompt, CatalogueChange::Prompts),
                (None, Some(_)) => (ItemKind::Resource, CatalogueChange::Resources),
                (None, None) => {
                    let shown = shown_key(key);
                    return Err(ToolError::not_found(format!(
                        "the program has no item `{shown}`; list those that it has"
                    )));
                }
            };
            Ok((kind, vec![CatalogueEvent::new(None, change)], (prompt, resource)))
        })
    }

    /// Changes prompts and resources of the program in place, or a copy of those that a snapshot reads, and announces the events. The closure
    /// changes nothing if it fails; what it removed is dropped after the lock is released.
    fn change_items_and_announce<R, D>(
        &self,
        change: impl FnOnce(&mut State) -> Result<(R, Vec<CatalogueEvent>, D), ToolError>,
    ) -> Result<R, ToolError> {
        let CatalogueInner { state, events, .. } = &*self.inner;
        let changed = {
            let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
            change(Arc::make_mut(&mut state))
        };
        let (result, announced, removed) = changed?;
        discard(removed);
        for event in announced {
            events.send(event);
        }
        Ok(result)
    }

    /// Changes a copy of the state, and announces the events; without an effect if `change` fails.
    pub(super) fn change_state<R>(
        &self,
        change: impl FnOnce(&mut State) -> Result<(R, Vec<CatalogueEvent>), ToolError>,
    ) -> Result<R, ToolError> {
        let CatalogueInner { state, events, .. } = &*self.inner;
        let mut current = state.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = State::clone(&current);
        let changed = change(&mut next);
        let dropped = match &changed {
            Ok(_) => std::mem::replace(&mut *current, Arc::new(next)),
            Err(_) => Arc::new(next),
        };
        drop(current);
        // Code of the program, outside of the lock.
        discard(dropped);
        let (result, announced) = changed?;
        for event in announced {
            events.send(event);
        }
        Ok(result)
    }
}
