//! Events of a catalogue, and their listeners.

use tokio::sync::broadcast::{
    Receiver,
    error::{RecvError, TryRecvError},
};
use tool_runtime::{
    event::Lagged,
    toolbox::{ToolboxEvent, ToolboxListener},
};

/// A change of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogueEvent {
    /// The namespace of the connector; `None` for the items of the program.
    pub namespace: Option<String>,
    /// The change.
    pub change: CatalogueChange,
}

/// The change itself.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

/// Receives the changes of a catalogue from [`Catalogue::subscribe`](super::Catalogue::subscribe) on. It applies no backpressure: it buffers
/// 256 changes of tools and 256 others; beyond that, the oldest are dropped, and the listener receives the number of missed ones.
#[derive(Debug)]
pub struct CatalogueListener {
    tools: ToolboxListener,
    others: Receiver<CatalogueEvent>,
}

impl CatalogueEvent {
    pub(super) fn new(namespace: Option<&str>, change: CatalogueChange) -> Self {
        Self { namespace: namespace.map(str::to_owned), change }
    }
}

impl CatalogueListener {
    pub(super) fn new(tools: ToolboxListener, others: Receiver<CatalogueEvent>) -> Self {
        Self { tools, others }
    }

    /// Waits for the next event; `None` once the catalogue is dropped. Cancel-safe: no event is lost if the future is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error with the number of missed events; later events follow.
    pub async fn next(&mut self) -> Option<Result<CatalogueEvent, Lagged>> {
        tokio::select! {
            event = self.tools.next() => Some(event?.map(event_of_tools)),
            event = self.others.recv() => match event {
                Ok(event) => Some(Ok(event)),
                Err(RecvError::Lagged(missed)) => Some(Err(Lagged { missed })),
                Err(RecvError::Closed) => None,
            },
        }
    }

    /// Returns the next buffered event; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error with the number of missed events; later events follow.
    pub fn try_next(&mut self) -> Option<Result<CatalogueEvent, Lagged>> {
        if let Some(event) = self.tools.try_next() {
            return Some(event.map(event_of_tools));
        }
        match self.others.try_recv() {
            Ok(event) => Some(Ok(event)),
            Err(TryRecvError::Lagged(missed)) => Some(Err(Lagged { missed })),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

fn event_of_tools(event: ToolboxEvent) -> CatalogueEvent {
    let namespace = match event {
        ToolboxEvent::ToolSet { name, .. } => Some(name).filter(|name| !name.is_empty()),
        _ => None,
    };
    CatalogueEvent { namespace, change: CatalogueChange::Tools }
}
