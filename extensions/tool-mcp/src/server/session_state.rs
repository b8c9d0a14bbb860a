//! The state of a session: what a client has set in it, as long as the session is open.

use std::sync::{Mutex, PoisonError};

use rmcp::{ErrorData, RoleServer, model::LoggingLevel, service::RequestContext};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex as AsyncMutex, watch};

use super::{
    announce::{ResourceSubscriptions, ServerSignals},
    handler::RequestHandler,
    server_state::ServerState,
};

/// A setting of a client in its session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum SessionSetting {
    Level(LoggingLevel),
    Subscribed(String),
    Unsubscribed(String),
}

/// The state of a session. Over HTTP, it outlives the handler of a session that rests.
pub(super) struct SessionState {
    level: Mutex<LoggingLevel>,
    /// The resources that the client subscribed to.
    pub(super) subscribed: ResourceSubscriptions,
    /// The changes that the client has not been told, once it is initialized.
    pub(super) signals: AsyncMutex<Option<ServerSignals>>,
    /// The number of streams on which the client receives changes.
    listeners: watch::Sender<usize>,
}

impl SessionState {
    pub(super) fn new(shared: &ServerState) -> Self {
        Self {
            level: Mutex::new(LoggingLevel::Debug),
            subscribed: ResourceSubscriptions::new(shared),
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

    /// Applies what the client set in another process.
    #[cfg(feature = "postgres")]
    pub(super) fn apply_setting(&self, setting: &SessionSetting) {
        match setting {
            SessionSetting::Level(level) => self.set_level(*level),
            SessionSetting::Subscribed(uri) => self.subscribed.note_of_other_process(uri),
            SessionSetting::Unsubscribed(uri) => self.subscribed.remove(uri),
        }
    }

    /// Begins to note changes, unless it has begun.
    pub(super) fn begin_noting_changes(&self, shared: &ServerState) {
        // Locked, they are being sent.
        if let Ok(mut signals) = self.signals.try_lock() {
            signals.get_or_insert_with(|| ServerSignals::from_now(shared));
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

impl RequestHandler {
    /// Tells the other processes of a cluster what the client has set in its session.
    #[cfg(feature = "postgres")]
    pub(super) async fn share_setting(
        &self,
        context: &RequestContext<RoleServer>,
        setting: SessionSetting,
    ) -> Result<(), ErrorData> {
        let session = super::request_run::http_facts(context).and_then(|facts| facts.session.as_deref());
        let (Some(link), Some(session)) = (self.shared.cluster.get(), session) else { return Ok(()) };
        link.cluster.store_and_share_setting(session, setting).await.map_err(|error| {
            tracing::error!(%error, "the other processes are not told what a client has set");
            let message = "the database of the server does not answer; try again later";
            ErrorData::new(super::question_round::UNAVAILABLE, message, None)
        })
    }

    /// Does nothing: no other process serves the session.
    #[cfg(not(feature = "postgres"))]
    pub(super) fn share_setting(
        &self,
        _: &RequestContext<RoleServer>,
        _: SessionSetting,
    ) -> std::future::Ready<Result<(), ErrorData>> {
        std::future::ready(Ok(()))
    }
}
