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
pub struct ChangeSignal(broadcast::Sender<OfferChange>);

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
        self.0.send(OfferChange::List).ok();
    }

    /// Tells the clients that subscribed to the resource `uri` that its content has changed.
    pub fn updated(&self, uri: impl Into<String>) {
        self.0.send(OfferChange::Updated(uri.into())).ok();
    }

    pub(in crate::server) fn subscribe(&self) -> OfferChanges {
        OfferChanges(Some(self.0.subscribe()))
    }
}

/// A change.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::server) enum OfferChange {
    List,
    Updated(String),
    /// Changes were lost: everything may have changed.
    All,
}

/// The changes of a signal, if there is one.
pub(in crate::server) struct OfferChanges(Option<broadcast::Receiver<OfferChange>>);

impl OfferChanges {
    /// The changes of `signal`; none at all without one.
    pub(in crate::server) fn of_signal(signal: Option<&ChangeSignal>) -> Self {
        signal.map_or(Self(None), ChangeSignal::subscribe)
    }

    /// Waits for a change; forever if there is none to come.
    pub(in crate::server) async fn next(&mut self) -> OfferChange {
        let Some(receiver) = &mut self.0 else { return std::future::pending().await };
        match receiver.recv().await {
            Ok(change) => change,
            Err(broadcast::error::RecvError::Lagged(_)) => OfferChange::All,
            Err(broadcast::error::RecvError::Closed) => {
                self.0 = None;
                std::future::pending().await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_listener_that_is_behind_learns_that_everything_may_have_changed() {
        let signal = ChangeSignal::new();
        signal.list_changed();
        let mut changes = signal.subscribe();
        assert_eq!(changes.next().now_or_never(), None, "changes from now on");
        signal.updated("a:a");
        assert_eq!(changes.next().now_or_never(), Some(OfferChange::Updated("a:a".to_owned())));
        for _ in 0..BEHIND {
            signal.list_changed();
        }
        for _ in 0..BEHIND {
            assert_eq!(changes.next().now_or_never(), Some(OfferChange::List));
        }
        for _ in 0..=BEHIND {
            signal.list_changed();
        }
        assert_eq!(changes.next().now_or_never(), Some(OfferChange::All));
        drop(signal);
        while changes.next().now_or_never().is_some() {}
        assert_eq!(OfferChanges::of_signal(None).next().now_or_never(), None);
    }
}
