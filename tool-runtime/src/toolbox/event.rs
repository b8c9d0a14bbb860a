//! Events of a toolbox, and their listeners.

use std::fmt;

use serde::Serialize;
use tokio::sync::{broadcast, watch};
use tool_core::ToolName;

use crate::event::{Lagged, Receiver};

/// A change of a [`Toolbox`](crate::Toolbox).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolboxEvent {
    /// A direct tool.
    Tool {
        /// The name of the tool.
        name: ToolName,
        /// The kind of change.
        change: ToolboxChange,
    },
    /// A toolset.
    ToolSet {
        /// The name of the toolset; may be empty.
        name: String,
        /// The kind of change.
        change: ToolboxChange,
    },
    /// The settings for all tools: visibility, strictness, request hooks.
    Settings,
}

/// The kind of change of a tool or toolset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolboxChange {
    /// It was added.
    Added,
    /// It was removed.
    Removed,
    /// It was replaced by another one with the same name.
    Replaced,
    /// The tools of the toolset changed.
    Changed,
}

impl ToolboxEvent {
    pub(super) fn tool(name: &ToolName, change: ToolboxChange) -> Self {
        Self::Tool { name: name.clone(), change }
    }

    pub(super) fn set(name: &str, change: ToolboxChange) -> Self {
        Self::ToolSet { name: name.to_owned(), change }
    }
}

impl fmt::Display for ToolboxEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name, change) = match self {
            Self::Settings => return f.write_str("the settings changed"),
            Self::ToolSet { name, change: ToolboxChange::Changed } => {
                return write!(f, "the tools of the set `{name}` changed");
            }
            Self::Tool { name, change } => ("tool", name.as_str(), change),
            Self::ToolSet { name, change } => ("set", name.as_str(), change),
        };
        let change = match change {
            ToolboxChange::Added => "was added",
            ToolboxChange::Removed => "was removed",
            ToolboxChange::Replaced => "was replaced",
            ToolboxChange::Changed => "changed",
        };
        write!(f, "the {kind} `{name}` {change}")
    }
}

/// The maximum number of events that a listener buffers.
pub(super) const KEPT: usize = 256;

/// Receives the events of a toolbox from [`Toolbox::subscribe`](crate::Toolbox::subscribe) on. It applies no
/// backpressure: it buffers 256 events; beyond that, the oldest are dropped, and the listener receives the
/// number of missed events.
#[derive(Debug)]
pub struct ToolboxListener {
    receiver: Receiver<ToolboxEvent>,
}

impl ToolboxListener {
    pub(super) fn new(receiver: broadcast::Receiver<ToolboxEvent>) -> Self {
        Self { receiver: Receiver::new(receiver) }
    }

    /// Waits for the next event; `None` once the toolbox is dropped. Cancel-safe: no event is lost if the
    /// future is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error with the number of missed events; later events follow.
    pub async fn next(&mut self) -> Option<Result<ToolboxEvent, Lagged>> {
        self.receiver.next().await
    }

    /// Returns the next buffered event; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error with the number of missed events; later events follow.
    pub fn try_next(&mut self) -> Option<Result<ToolboxEvent, Lagged>> {
        self.receiver.try_next()
    }
}

/// A receiver for changes of a [`Toolbox`](crate::Toolbox), without their details. Several changes between two
/// checks count as one.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Toolbox, toolset::NamedTools};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let toolbox = Toolbox::new();
/// let mut changes = toolbox.changes();
/// toolbox.add_toolset(NamedTools::new("none", []))?;
/// assert!(changes.changed().await);
///
/// drop(toolbox);
/// assert!(!changes.changed().await);
/// # Ok::<(), tool_runtime::registry::BuildError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ToolboxChanges {
    receiver: watch::Receiver<()>,
}

impl ToolboxChanges {
    pub(super) fn new(receiver: watch::Receiver<()>) -> Self {
        Self { receiver }
    }

    /// Waits for a change; `false` once the toolbox is dropped. Cancel-safe: no change is lost if the future is
    /// dropped.
    pub async fn changed(&mut self) -> bool {
        self.receiver.changed().await.is_ok()
    }

    /// Returns `true` if there was a change since the last [`changed`](Self::changed).
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.receiver.has_changed().unwrap_or(false)
    }
}
