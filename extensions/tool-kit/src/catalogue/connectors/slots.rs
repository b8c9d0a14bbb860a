//! Changes of slots: namespaces, states, removals.

use std::sync::Arc;

use tool_runtime::{ToolError, guard::discard};

use super::{
    ConnectorState,
    attach::{check_namespace, taken_by_toolset_error},
};
use crate::catalogue::{CatalogueChange, CatalogueEvent, CatalogueInner};

impl CatalogueInner {
    /// Holds a namespace for a slot.
    pub(super) fn claim_namespace(&self, id: u64, namespace: &Arc<str>) -> Result<(), ToolError> {
        check_namespace(namespace)?;
        let is_set = self.has_toolset(namespace);
        let former = self.connectors.change_state(|state| {
            state.check_namespace_is_free(namespace, id)?;
            if is_set {
                return Err(taken_by_toolset_error(namespace));
            }
            let slot = state.slots.iter_mut().find(|slot| slot.id == id);
            let former = slot.map(|slot| slot.namespace.replace(Arc::clone(namespace)));
            Ok(former.flatten())
        })?;
        // A server that reports another name than before.
        if former.is_some_and(|former| former != *namespace) {
            self.connectors.freed.send_replace(());
        }
        Ok(())
    }

    /// Frees the namespace of a slot whose server has another name, or none.
    pub(super) fn release_namespace(&self, id: u64) {
        let released = self.connectors.change_slot(id, |slot| slot.namespace.take());
        if released.flatten().is_some() {
            self.connectors.freed.send_replace(());
        }
    }

    /// Removes a slot without items, and frees its namespace.
    pub(super) fn remove_slot(&self, id: u64) {
        let removed = self.connectors.change_state(|state| {
            let place = state.slots.iter().position(|slot| slot.id == id);
            Ok(place.map(|place| state.slots.remove(place)))
        });
        let Ok(Some(slot)) = removed else { return };
        self.connectors.freed.send_replace(());
        let (key, namespace) = (&*slot.key, slot.namespace.as_deref());
        tracing::info!(connector = key, namespace, "a connector was removed");
        let change = CatalogueChange::Connector { key: key.to_owned(), state: ConnectorState::Removed };
        self.events.send(CatalogueEvent::new(namespace, change));
        discard(slot);
    }

    /// Sets the state of a slot, and announces it, unless it has it already.
    pub(super) fn set_state(&self, id: u64, new: ConnectorState) {
        let before = self.connectors.change_slot(id, |slot| std::mem::replace(&mut slot.state, new));
        if before.is_some_and(|before| before != new) {
            self.announce_slot_state(id);
        }
    }

    pub(super) fn announce_slot_state(&self, id: u64) {
        let state = self.connectors.state();
        let Some(slot) = state.slot(id) else { return };
        let change = CatalogueChange::Connector { key: slot.key.to_string(), state: slot.state };
        self.events.send(CatalogueEvent::new(slot.namespace.as_deref(), change));
    }
}
