//! The state of a session: what a client has set in it, as long as the session is open.

use std::sync::{Mutex, PoisonError};

use rmcp::model::LoggingLevel;
use tokio::sync::{Mutex as AsyncMutex, watch};

use super::{
    announce::{Signals, Subscriptions},
    server_state::ServerState,
};

/// The state of a session. Over HTTP, it outlives the handler of a session that rests.
pub(super) struct SessionState {
    level: Mutex<LoggingLevel>,
    /// The resources that the client subscribed to.
    pub(super) subscribed: Subscriptions,
    /// The changes that the client has not been told, once it is initialized.
    pub(super) signals: AsyncMutex<Option<Signals>>,
    /// The number of streams on which the client receives changes.
    listeners: watch::Sender<usize>,
}

impl SessionState {
    pub(super) fn new(shared: &ServerState) -> Self {
        Self {
            level: Mutex::new(LoggingLevel::Debug),
            subscribed: Subscriptions::new(shared),
            signals: AsyncMutex::default(),
            listeners: watch::Sender::new(0),
        }
    }

    /// Returns the least severity of the log lines that the client wants.
    pub(super) fn log_level(&self) -> LoggingLevel {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_level(&self, level: LoggingLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    /// Begins to note changes, unless it has begun.
    pub(super) fn note_changes(&self, shared: &ServerState) {
        // Locked, they are being sent.
        if let Ok(mut signals) = self.signals.try_lock() {
            signals.get_or_insert_with(|| Signals::from_now(shared));
        }
    }

    /// Returns the number of streams on which the client receives changes, as it changes.
    pub(super) fn listener_count(&self) -> watch::Receiver<usize> {
        self.listeners.subscribe()
    }

    #[cfg(feature = "http")]
    pub(super) fn add_listener(&self) {
        self.listeners.send_modify(|number| *number += 1);
    }

    #[cfg(feature = "http")]
    pub(super) fn remove_listener(&self) {
        self.listeners.send_modify(|number| *number = number.saturating_sub(1));
    }
}
