//! What becomes of a toolbox, told to those who listen.

use std::fmt;

use serde::Serialize;
use tokio::sync::{broadcast, watch};
use tool_core::ToolName;

use crate::event::{Lagged, Receiver};

/// Something that became of a [`Toolbox`](crate::Toolbox).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolboxEvent {
    /// A direct tool.
    Tool {
        /// The name of the tool.
        name: ToolName,
        /// What became of it.
        change: ToolboxChange,
    },
    /// A set.
    ToolSet {
        /// The name of the set; may be empty.
        name: String,
        /// What became of it.
        change: ToolboxChange,
    },
    /// What holds for all tools: what runs are shown, what they require of sets and names, what adds to requests.
    Settings,
}

/// What became of a tool or set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolboxChange {
    /// It is there now.
    Added,
    /// It is there no more.
    Removed,
    /// Another one of its name is in its place.
    Replaced,
    /// It is a set that has other tools than before.
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

/// The most events that a listener keeps.
pub(super) const KEPT: usize = 256;

/// Receives what becomes of a toolbox, from [`Toolbox::subscribe`](crate::Toolbox::subscribe) on. It holds up nobody: it
/// keeps 256 events, and one that falls behind by more than that is told how many events it missed.
#[derive(Debug)]
pub struct ToolboxListener {
    receiver: Receiver<ToolboxEvent>,
}

impl ToolboxListener {
    pub(super) fn new(receiver: broadcast::Receiver<ToolboxEvent>) -> Self {
        Self { receiver: Receiver::new(receiver) }
    }

    /// Waits for the next event; `None` once the toolbox is gone. May be dropped and asked again: nothing is lost.
    ///
    /// # Errors
    ///
    /// If events were missed; those that follow are there.
    pub async fn next(&mut self) -> Option<Result<ToolboxEvent, Lagged>> {
        self.receiver.next().await
    }

    /// Returns the next event that has happened already; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If events were missed; those that follow are there.
    pub fn try_next(&mut self) -> Option<Result<ToolboxEvent, Lagged>> {
        self.receiver.try_next()
    }
}

/// Hears of changes of a [`Toolbox`](crate::Toolbox). Several that come between two questions are one.
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

    /// Waits for a change; `false` once the toolbox is gone. May be dropped and asked again: nothing is
    /// lost.
    pub async fn changed(&mut self) -> bool {
        self.receiver.changed().await.is_ok()
    }

    /// Whether there was a change that [`changed`](Self::changed) has not told of.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.receiver.has_changed().unwrap_or(false)
    }
}
