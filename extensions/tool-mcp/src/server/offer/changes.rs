//! The signal of changes.

use tokio::sync::broadcast;

/// The changes that a listener may be behind. Beyond it, it learns that everything may have changed.
const BEHIND: usize = 1_024;

/// A handle by which [`Resources`](super::Resources) and [`Prompts`](super::Prompts) tell clients that they have changed.
/// Clones are the same signal.
///
/// # Examples
///
/// ```
/// use tool_mcp::server::ChangeSignal;
///
/// let changes = ChangeSignal::new();
/// changes.list_changed();
/// changes.updated("file:///notes.txt");
/// ```
#[derive(Debug, Clone)]
pub struct ChangeSignal(broadcast::Sender<Change>);

impl Default for ChangeSignal {
    fn default() -> Self {
        Self::new()
    }
}

impl ChangeSignal {
    /// Creates a signal without listeners.
    #[must_use]
    pub fn new() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }

    /// Tells all clients that there are other items, or that their descriptions have changed.
    pub fn list_changed(&self) {
        self.0.send(Change::List).ok();
    }

    /// Tells the clients that subscribed to the resource `uri` that its content has changed.
    pub fn updated(&self, uri: impl Into<String>) {
        self.0.send(Change::Updated(uri.into())).ok();
    }

    pub(in crate::server) fn listen(&self) -> Changes {
        Changes(Some(self.0.subscribe()))
    }
}

/// A change.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::server) enum Change {
    List,
    Updated(String),
    /// Changes were lost: everything may have changed.
    All,
}

/// The changes of a signal, if there is one.
pub(in crate::server) struct Changes(Option<broadcast::Receiver<Change>>);

impl Changes {
    /// The changes of `signal`; none at all without one.
    pub(in crate::server) fn of(signal: Option<&ChangeSignal>) -> Self {
        signal.map_or(Self(None), ChangeSignal::listen)
    }

    /// Waits for a change; forever if there is none to come.
    pub(in crate::server) async fn next(&mut self) -> Change {
        let Some(receiver) = &mut self.0 else { return std::future::pending().await };
        match receiver.recv().await {
            Ok(change) => change,
            Err(broadcast::error::RecvError::Lagged(_)) => Change::All,
            Err(broadcast::error::RecvError::Closed) => {
                self.0 = None;
                std::future::pending().await
            }
        }
    }
}
