//! Events of a catalogue, and their listeners.
//!
//! A listener has a queue of its own, in which an event that is there already is not added again, and one of the state of a connector replaces the
//! one before. What one connector announces, however often, takes no place from events of others.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::Notify;
use tool_runtime::{
    event::Lagged,
    toolbox::{ToolboxEvent, ToolboxListener},
};

use super::ConnectorState;

/// The number of resources of a namespace whose changes a listener buffers.
const MAX_BUFFERED_RESOURCES: usize = 256;

/// A change of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CatalogueEvent {
    /// The namespace of the connector; `None` for the items of the program, and for the state of a connector without a namespace.
    pub namespace: Option<String>,
    /// The change.
    pub change: CatalogueChange,
}

/// The change itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CatalogueChange {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The content of a resource.
    Resource {
        /// Its URI.
        uri: String,
    },
    /// The state of a connector.
    Connector {
        /// Its [key](super::ConnectorInfo::key).
        key: String,
        /// The state.
        state: ConnectorState,
    },
}

/// Receives the changes of a catalogue from [`Catalogue::subscribe`](super::Catalogue::subscribe) on. It applies no backpressure.
///
/// Equal changes that it has not yet received count as one, and of the states of a connector, it receives the last one. It buffers the changes of 256
/// resources of each namespace; beyond that, they are dropped, and it receives the number of missed ones. The same holds for 256 changes of
/// [`Catalogue::tools`](super::Catalogue::tools).
#[derive(Debug)]
pub struct CatalogueListener {
    /// `None` once the toolbox is dropped.
    tools: Option<ToolboxListener>,
    queue: Arc<EventQueue>,
}

/// The queues of the listeners of a catalogue.
#[derive(Default)]
pub(super) struct EventHub {
    queues: Mutex<Vec<Weak<EventQueue>>>,
}

/// The events that a listener has not yet received.
#[derive(Debug, Default)]
struct EventQueue {
    pending: Mutex<PendingEvents>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct PendingEvents {
    /// By their places in the order of arrival.
    events: BTreeMap<u64, CatalogueEvent>,
    places: HashMap<MergeKey, u64>,
    /// The number of changed resources, by namespace.
    resources: HashMap<Option<String>, usize>,
    last_place: u64,
    missed: u64,
    is_closed: bool,
}

/// Events with one key count as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum MergeKey {
    Event(CatalogueEvent),
    Connector(String),
}

impl CatalogueEvent {
    pub(super) fn new(namespace: Option<&str>, change: CatalogueChange) -> Self {
        Self { namespace: namespace.map(str::to_owned), change }
    }

    fn of_toolbox_event(event: ToolboxEvent) -> Self {
        let namespace = match event {
            ToolboxEvent::ToolSet { name, .. } => Some(name).filter(|name| !name.is_empty()),
            _ => None,
        };
        Self { namespace, change: CatalogueChange::Tools }
    }

    fn merge_key(&self) -> MergeKey {
        match &self.change {
            CatalogueChange::Connector { key, .. } => MergeKey::Connector(key.clone()),
            _ => MergeKey::Event(self.clone()),
        }
    }
}

impl EventHub {
    pub(super) fn subscribe(&self, tools: ToolboxListener) -> CatalogueListener {
        let queue = Arc::<EventQueue>::default();
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(&queue));
        CatalogueListener { tools: Some(tools), queue }
    }

    pub(super) fn send(&self, event: CatalogueEvent) {
        self.change_and_wake_queues(|pending| pending.push(event.clone()));
    }

    fn change_and_wake_queues(&self, mut change: impl FnMut(&mut PendingEvents)) {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        for queue in queues.iter().filter_map(Weak::upgrade) {
            change(&mut queue.lock_pending());
            queue.arrived.notify_one();
        }
    }
}

impl Drop for EventHub {
    fn drop(&mut self) {
        self.change_and_wake_queues(|pending| pending.is_closed = true);
    }
}

impl EventQueue {
    fn lock_pending(&self) -> MutexGuard<'_, PendingEvents> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingEvents {
    fn push(&mut self, event: CatalogueEvent) {
        let key = event.merge_key();
        if let Some(place) = self.places.get(&key) {
            match key {
                MergeKey::Event(_) => return,
                // The last state counts, after what came before it.
                MergeKey::Connector(_) => _ = self.events.remove(place),
            }
        }
        if matches!(event.change, CatalogueChange::Resource { .. }) {
            let count = self.resources.entry(event.namespace.clone()).or_default();
            if *count >= MAX_BUFFERED_RESOURCES {
                self.missed += 1;
                return;
            }
            *count += 1;
        }
        self.last_place += 1;
        self.places.insert(key, self.last_place);
        self.events.insert(self.last_place, event);
    }

    fn pop(&mut self) -> Option<Result<CatalogueEvent, Lagged>> {
        if self.missed > 0 {
            return Some(Err(Lagged { missed: std::mem::take(&mut self.missed) }));
        }
        let (_, event) = self.events.pop_first()?;
        self.places.remove(&event.merge_key());
        if matches!(event.change, CatalogueChange::Resource { .. }) {
            let count = self.resources.remove(&event.namespace).unwrap_or_default();
            if count > 1 {
                self.resources.insert(event.namespace.clone(), count - 1);
            }
        }
        Some(Ok(event))
    }
}

impl CatalogueListener {
    /// Waits for the next event; `None` once the catalogue is dropped. Cancel-safe: no event is lost if the future is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error with the number of missed events; later events follow.
    pub async fn next(&mut self) -> Option<Result<CatalogueEvent, Lagged>> {
        loop {
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.queue.lock_pending().is_closed {
                return None;
            }
            let Some(tools) = &mut self.tools else {
                self.queue.arrived.notified().await;
                continue;
            };
            tokio::select! {
                () = self.queue.arrived.notified() => {}
                event = tools.next() => match event {
                    Some(Ok(event)) => self.queue.lock_pending().push(CatalogueEvent::of_toolbox_event(event)),
                    Some(Err(lagged)) => return Some(Err(lagged)),
                    None => self.tools = None,
                },
            }
        }
    }

    /// Returns the next buffered event; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error with the number of missed events; later events follow.
    pub fn try_next(&mut self) -> Option<Result<CatalogueEvent, Lagged>> {
        while let Some(event) = self.tools.as_mut().and_then(ToolboxListener::try_next) {
            match event {
                Ok(event) => self.queue.lock_pending().push(CatalogueEvent::of_toolbox_event(event)),
                Err(lagged) => return Some(Err(lagged)),
            }
        }
        self.queue.lock_pending().pop()
    }
}

#[cfg(test)]
mod tests;
