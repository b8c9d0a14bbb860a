//! Toolsets: addition, replacement, removal.

use std::sync::Arc;

use super::{combine_events, replaced_or_added};
use crate::{
    ToolSet,
    guard::catch,
    registry::{BuildError, refuse_reserved_set},
    toolbox::{AttachedSet, Toolbox, ToolboxChange, ToolboxEvent},
    toolset::ToolSetNotifier,
};

impl Toolbox {
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
            let event = |change| move |it: &Arc<AttachedSet>| ToolboxEvent::set(&it.name, change);
            let mut events: Vec<_> = state.toolsets.iter().map(event(ToolboxChange::Removed)).collect();
            events.extend(toolsets.iter().map(event(ToolboxChange::Added)));
            state.toolsets.clone_from(&toolsets);
            ((), combine_events(events))
        });
        toolsets.iter().for_each(|attached| self.pass_notifier_to(attached));
        Ok(())
    }

    fn attach(&self, set: Arc<dyn ToolSet>) -> Result<Arc<AttachedSet>, BuildError> {
        let attached = Arc::new(AttachedSet::new(set));
        refuse_reserved_set(&attached.name)
            .map_err(|diagnostic| BuildError { diagnostics: vec![diagnostic] })?;
        Ok(attached)
    }

    /// Passes a notifier to a toolset; the notifier holds neither the toolbox nor the toolset.
    fn pass_notifier_to(&self, attached: &Arc<AttachedSet>) {
        let (toolbox, set) = (Arc::downgrade(&self.inner), Arc::downgrade(attached));
        let attached_to = move || {
            let (inner, set) = (toolbox.upgrade()?, set.upgrade()?);
            let toolbox = Self { inner };
            let is_attached = toolbox.state().toolsets.iter().any(|it| Arc::ptr_eq(it, &set));
            is_attached.then_some((toolbox, set))
        };
        let is_attached = {
            let attached_to = attached_to.clone();
            move || attached_to().is_some()
        };
        let announcer = ToolSetNotifier::new(move || {
            if let Some((toolbox, set)) = attached_to() {
                toolbox.announce(&set.name);
            }
        });
        let announcer = announcer.attached_while(is_attached);
        if let Err(panic) = catch(|| attached.set.attached(announcer)) {
            let (toolset, message) = (&attached.name, panic.message());
            tracing::error!(toolset, message, "a toolset panicked in `attached`");
        }
    }
}

/// Replaces the toolset with the same name, or appends the toolset; returns `true` if one was replaced.
fn put_set(sets: &mut Vec<Arc<AttachedSet>>, set: Arc<AttachedSet>) -> bool {
    let place = sets.iter_mut().find(|it| !set.name.is_empty() && it.name == set.name);
    let is_replaced = place.is_some();
    match place {
        Some(place) => *place = set,
        None => sets.push(set),
    }
    is_replaced
}
