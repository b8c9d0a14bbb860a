//! The table of connectors: one lock, under which no code of the program runs.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::{Notify, watch};
use tool_runtime::{CancellationToken, ToolError, guard::discard};

use super::{ConnectorInfo, ConnectorSource, ConnectorState};
use crate::catalogue::Connector;

/// The connectors of a catalogue.
#[derive(Default)]
pub(in crate::catalogue) struct ConnectorTable {
    state: RwLock<Arc<TableState>>,
    last_id: AtomicU64,
    /// Wakes the run of the catalogue after an addition.
    pub(super) added: Notify,
    /// Signals that a namespace became free.
    pub(super) freed: watch::Sender<()>,
}

/// The state of the table. A change replaces it.
#[derive(Clone, Default)]
pub(in crate::catalogue) struct TableState {
    /// In the order of their registration.
    pub(super) slots: Vec<Slot>,
    pub(super) run: RunPhase,
    /// The number of connectors that came so far.
    pub(super) attachments: u64,
}

/// The phase of the run of a catalogue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RunPhase {
    #[default]
    NotStarted,
    Running,
    Ended,
}

/// The place of a connector in the order of registration, whether it is connected or not.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) id: u64,
    pub(super) key: Arc<str>,
    pub(super) url: Option<Arc<str>>,
    /// The namespace that it holds.
    pub(super) namespace: Option<Arc<str>>,
    pub(super) server_name: Option<Arc<str>>,
    pub(super) state: ConnectorState,
    pub(super) last_error: Option<Arc<str>>,
    pub(super) attached: Option<AttachedConnector>,
    /// `None` for one that the program connected itself.
    pub(super) source: Option<SlotSource>,
}

/// The connected connector of a slot.
#[derive(Clone)]
pub(in crate::catalogue) struct AttachedConnector {
    pub(super) id: u64,
    pub(in crate::catalogue) namespace: Arc<str>,
    pub(in crate::catalogue) connector: Arc<dyn Connector>,
    pub(super) has_tools: bool,
    pub(super) phase: AttachedPhase,
}

/// Snapshots have the items of a listed connector alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttachedPhase {
    /// Its tools are being added to the toolbox.
    Arriving,
    Listed,
    /// Its tools are being removed from the toolbox, by one thread.
    Detaching,
}

/// The removal of a connector that was attached.
pub(super) struct Detachment {
    pub(super) namespace: Arc<str>,
    pub(super) has_tools: bool,
}

/// The source of the connections of a slot, and the task that makes them.
#[derive(Clone)]
pub(super) struct SlotSource {
    pub(super) source: Arc<dyn ConnectorSource>,
    /// `false` if the namespace is the name that the server reports.
    pub(super) has_fixed_namespace: bool,
    pub(super) task: SlotTask,
}

#[derive(Clone)]
pub(super) enum SlotTask {
    /// It waits for the run of the catalogue.
    Queued,
    Running(TaskTokens),
    /// The slot is removed when its task has ended.
    Removing,
    Ended,
}

/// The signals between a task and the code that ends it.
#[derive(Clone)]
pub(super) struct TaskTokens {
    /// Ends the task.
    pub(super) stop: CancellationToken,
    /// Is cancelled when the task has ended.
    pub(super) ended: CancellationToken,
}

impl ConnectorTable {
    pub(in crate::catalogue) fn state(&self) -> Arc<TableState> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn new_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Changes a copy of the state; without an effect if `change` fails. What is removed is dropped outside of the lock.
    pub(super) fn change_state<R>(
        &self,
        change: impl FnOnce(&mut TableState) -> Result<R, ToolError>,
    ) -> Result<R, ToolError> {
        let mut current = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = TableState::clone(&current);
        let changed = change(&mut next);
        let dropped = match &changed {
            Ok(_) => std::mem::replace(&mut *current, Arc::new(next)),
            Err(_) => Arc::new(next),
        };
        drop(current);
        discard(dropped);
        changed
    }

    pub(super) fn add_attached(&self, id: u64, attached: AttachedConnector) {
        let added = self.change_state(|state| {
            state.attachments += 1;
            if let Some(slot) = state.slots.iter_mut().find(|slot| slot.id == id) {
                slot.attached = Some(attached);
            }
            Ok(())
        });
        added.unwrap_or_default();
    }

    /// Changes one slot; `None` if it is gone.
    pub(super) fn change_slot<R>(&self, id: u64, change: impl FnOnce(&mut Slot) -> R) -> Option<R> {
        let gone = || ToolError::not_found("the connector is removed");
        self.change_state(|state| {
            state.slots.iter_mut().find(|slot| slot.id == id).map(change).ok_or_else(gone)
        })
        .ok()
    }
}

impl TableState {
    /// Returns the connectors whose items are listed.
    pub(in crate::catalogue) fn listed_connectors(&self) -> impl Iterator<Item = &AttachedConnector> {
        self.attached_connectors().filter(|attached| attached.is_listed())
    }

    pub(super) fn attached_connectors(&self) -> impl Iterator<Item = &AttachedConnector> {
        self.slots.iter().filter_map(|slot| slot.attached.as_ref())
    }

    pub(super) fn slot(&self, id: u64) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.id == id)
    }

    /// Returns an error if a run of the catalogue has ended.
    pub(in crate::catalogue) fn check_not_ended(&self) -> Result<(), ToolError> {
        match self.run {
            RunPhase::Ended => Err(ToolError::conflict(
                "the run of the catalogue has ended, and with it its connectors and calls; create another catalogue",
            )),
            RunPhase::NotStarted | RunPhase::Running => Ok(()),
        }
    }

    /// Returns an error if another slot than `id` holds the namespace.
    pub(super) fn check_namespace_is_free(&self, namespace: &str, id: u64) -> Result<(), ToolError> {
        let holder =
            self.slots.iter().find(|slot| slot.id != id && slot.namespace.as_deref() == Some(namespace));
        match holder {
            Some(_) => Err(ToolError::conflict(format!(
                "there is a connector `{namespace}`; disconnect it, or give this one another namespace"
            ))),
            None => Ok(()),
        }
    }
}

impl AttachedConnector {
    pub(super) fn is_listed(&self) -> bool {
        self.phase == AttachedPhase::Listed
    }

    /// Takes the connector out of snapshots; `None` if another thread does so.
    pub(super) fn begin_detachment(&mut self) -> Option<Detachment> {
        let before = std::mem::replace(&mut self.phase, AttachedPhase::Detaching);
        let detachment = || Detachment { namespace: Arc::clone(&self.namespace), has_tools: self.has_tools };
        (before != AttachedPhase::Detaching).then(detachment)
    }
}

impl Slot {
    pub(super) fn info(&self) -> ConnectorInfo {
        let owned = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
        ConnectorInfo {
            key: self.key.to_string(),
            namespace: owned(&self.namespace),
            url: owned(&self.url),
            server_name: owned(&self.server_name),
            state: self.state,
            last_error: owned(&self.last_error),
        }
    }
}
