//! The signal of changes.

use std::{fmt, future::poll_fn, sync::Arc, task::Poll};

use tokio::sync::broadcast;
use tool_runtime::{
    BoxFuture,
    guard::{Panic, catch, catch_async, discard},
};

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
#[derive(Clone)]
pub struct ChangeSignal {
    own: broadcast::Sender<OfferChange>,
    others: Arc<[Arc<SubscribeOther>]>,
}

/// Creates a listener for the changes of something else, from now on.
type SubscribeOther = dyn Fn() -> Box<dyn ChangeListener> + Send + Sync;

/// A change of what a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OfferChange {
    /// There are other items, or their descriptions have changed.
    List,
    /// The content of the resource of this URI has changed.
    Updated(String),
    /// Changes were lost: everything may have changed.
    All,
}

/// Receives the changes of something that has listeners of its own, for [`ChangeSignal::from_listeners`].
pub trait ChangeListener: Send {
    /// Waits for the next change; forever, once there are none to come. No change may be lost if the future is dropped.
    fn next(&mut self) -> BoxFuture<'_, OfferChange>;
}

impl Default for ChangeSignal {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ChangeSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeSignal").field("others", &self.others.len()).finish_non_exhaustive()
    }
}

impl ChangeSignal {
    /// Creates a signal without listeners.
    #[must_use]
    pub fn new() -> Self {
        Self::with_others([])
    }

    /// Creates a signal that has the changes of something else, too: `subscribe` creates a listener for each client.
    ///
    /// # Examples
    ///
    /// ```
    /// use tokio::sync::watch;
    /// use tool_mcp::server::{ChangeListener, ChangeSignal, OfferChange};
    /// use tool_runtime::BoxFuture;
    ///
    /// struct Values(watch::Receiver<u32>);
    ///
    /// impl ChangeListener for Values {
    ///     fn next(&mut self) -> BoxFuture<'_, OfferChange> {
    ///         Box::pin(async {
    ///             match self.0.changed().await {
    ///                 Ok(()) => OfferChange::Updated("value://now".to_owned()),
    ///                 Err(_) => std::future::pending().await,
    ///             }
    ///         })
    ///     }
    /// }
    ///
    /// let (sender, receiver) = watch::channel(1);
    /// let changes = ChangeSignal::from_listeners(move || Values(receiver.clone()));
    /// # drop((sender, changes));
    /// ```
    #[must_use]
    pub fn from_listeners<L: ChangeListener + 'static>(
        subscribe: impl Fn() -> L + Send + Sync + 'static,
    ) -> Self {
        Self::with_others([
            Arc::new(move || Box::new(subscribe()) as Box<dyn ChangeListener>) as Arc<SubscribeOther>
        ])
    }

    /// Creates a signal that has the changes of several, too.
    #[must_use]
    pub fn of_all(signals: impl IntoIterator<Item = Self>) -> Self {
        Self::with_others(signals.into_iter().map(|signal| {
            Arc::new(move || Box::new(signal.subscribe()) as Box<dyn ChangeListener>) as Arc<SubscribeOther>
        }))
    }

    fn with_others(others: impl IntoIterator<Item = Arc<SubscribeOther>>) -> Self {
        Self { own: broadcast::Sender::new(BEHIND), others: others.into_iter().collect() }
    }

    /// Tells all clients that there are other items, or that their descriptions have changed.
    pub fn list_changed(&self) {
        self.own.send(OfferChange::List).ok();
    }

    /// Tells the clients that subscribed to the resource `uri` that its content has changed.
    pub fn updated(&self, uri: impl Into<String>) {
        self.own.send(OfferChange::Updated(uri.into())).ok();
    }

    pub(in crate::server) fn subscribe(&self) -> OfferChanges {
        let own: Box<dyn ChangeListener> = Box::new(OwnChanges(Some(self.own.subscribe())));
        let others = self.others.iter().filter_map(|subscribe| match catch(|| subscribe()) {
            Ok(listener) => Some(listener),
            Err(panic) => {
                tracing::error!(message = panic.message(), "a listener for changes cannot be created");
                None
            }
        });
        OfferChanges(std::iter::once(own).chain(others).collect())
    }
}

/// The changes of a signal by its own methods.
struct OwnChanges(Option<broadcast::Receiver<OfferChange>>);

impl ChangeListener for OwnChanges {
    fn next(&mut self) -> BoxFuture<'_, OfferChange> {
        Box::pin(async {
            let Some(receiver) = &mut self.0 else { return std::future::pending().await };
            match receiver.recv().await {
                Ok(change) => change,
                Err(broadcast::error::RecvError::Lagged(_)) => OfferChange::All,
                Err(broadcast::error::RecvError::Closed) => {
                    self.0 = None;
                    std::future::pending().await
                }
            }
        })
    }
}

/// The changes of a signal, if there is one.
pub(in crate::server) struct OfferChanges(Vec<Box<dyn ChangeListener>>);

impl OfferChanges {
    /// The changes of `signal`; none at all without one.
    pub(in crate::server) fn of_signal(signal: Option<&ChangeSignal>) -> Self {
        signal.map_or(Self(Vec::new()), ChangeSignal::subscribe)
    }

    /// Waits for a change; forever if there is none to come. A listener that panics is dropped, with a log line.
    pub(in crate::server) async fn next(&mut self) -> OfferChange {
        let (place, change) = self.next_of_any_listener().await;
        match change {
            Ok(change) => {
                // One that always has a change does not hide those of others.
                self.0.rotate_left(place + 1);
                change
            }
            Err(panic) => {
                tracing::error!(message = panic.message(), "a listener for changes panicked");
                discard(self.0.remove(place));
                // Its changes are lost.
                OfferChange::All
            }
        }
    }

    /// Waits for the first listener with a change; returns its place.
    async fn next_of_any_listener(&mut self) -> (usize, Result<OfferChange, Panic>) {
        let mut waiting: Vec<_> =
            self.0.iter_mut().map(|listener| Box::pin(catch_async(|| listener.next()))).collect();
        poll_fn(|cx| {
            let polled = waiting.iter_mut().map(|next| next.as_mut().poll(cx));
            let first = polled.enumerate().find_map(|(place, change)| match change {
                Poll::Ready(change) => Some((place, change)),
                Poll::Pending => None,
            });
            first.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

impl ChangeListener for OfferChanges {
    fn next(&mut self) -> BoxFuture<'_, OfferChange> {
        Box::pin(self.next())
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

    #[test]
    fn a_signal_of_several_has_the_changes_of_each_once() {
        let signals = [ChangeSignal::new(), ChangeSignal::new()];
        let all = ChangeSignal::of_all(signals.clone());
        let mut changes = all.subscribe();
        for _ in 0..3 {
            signals[0].list_changed();
        }
        signals[1].updated("b:b");
        all.updated("c:c");
        let received: Vec<_> = std::iter::from_fn(|| changes.next().now_or_never()).collect();
        let updated = |uri: &str| OfferChange::Updated(uri.to_owned());
        assert_eq!(received.len(), 5, "{received:?}");
        // One with many changes does not hide those of others.
        assert!(received[..3].contains(&updated("b:b")) && received[..3].contains(&updated("c:c")));
        drop((signals, all));
        assert_eq!(changes.next().now_or_never(), None);
    }

    struct Panics;

    impl ChangeListener for Panics {
        fn next(&mut self) -> BoxFuture<'_, OfferChange> {
            std::panic::resume_unwind(Box::new("no changes"))
        }
    }

    #[test]
    fn a_listener_that_panics_costs_its_own_changes() {
        let signal = ChangeSignal::from_listeners(|| Panics);
        let mut changes = signal.subscribe();
        assert_eq!(changes.next().now_or_never(), Some(OfferChange::All));
        assert_eq!(changes.next().now_or_never(), None);
        signal.list_changed();
        assert_eq!(changes.next().now_or_never(), Some(OfferChange::List));
    }
}
