//! Sessions that rest are set up again, and those that other processes opened.

use std::sync::Arc;

use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, InitializeRequestParams,
        InitializedNotification, Request, RequestId,
    },
    service::serve_server_with_ct,
    transport::{
        TransportAdapterIdentity,
        streamable_http_server::session::{
            RestoreOutcome, SessionId, SessionManager as _,
            local::{LocalSessionManagerError, SessionError},
        },
    },
};
use tokio::sync::Mutex as AsyncMutex;
use tool_runtime::CancellationToken;

use super::{
    Identity,
    activity::OpenStream,
    refusal::RequestRefusal,
    session_error::SessionsError,
    sessions::HttpSessions,
    table::{NewSession, ReadySession, RestingSession},
};
use crate::server::{handler::RequestHandler, session_state::SessionState};

/// The maximum number of times that a request looks for its session, which may end each time that it is set up.
const MAX_LOOKS: usize = 8;

impl HttpSessions {
    /// Keeps the session `id` from resting, and sets it up if it rests, or if another process opened it. Returns `None` if there is no such
    /// session. `identity` is the caller's; `stop` ends the session's handler.
    ///
    /// # Errors
    ///
    /// If the session cannot be set up now.
    pub(super) async fn use_and_wake_session(
        self: &Arc<Self>,
        id: &str,
        identity: Option<&Arc<Identity>>,
        stop: &CancellationToken,
    ) -> Result<Option<OpenStream>, RequestRefusal> {
        for _ in 0..MAX_LOOKS {
            let Some((used, waking)) = self.table.hold_session_and_wake_lock(id) else {
                // Boxed, as below: the future of a request is copied with those that it may need.
                if !Box::pin(self.load_session(id, identity)).await? {
                    return Ok(None);
                }
                continue;
            };
            let Some(waking) = waking else { return Ok(Some(used)) };
            // A task of its own: if the client leaves, the session is whole all the same for those that wait.
            let waking = Box::pin(Arc::clone(self).wake_session_once(id.into(), waking, stop.child_token()));
            if !matches!(self.table.tasks.spawn(waking).await, Ok(Ok(()))) {
                break;
            }
            // It may have ended since, or another request failed to set it up.
            if self.table.is_ready(id) {
                return Ok(Some(used));
            }
        }
        Err(RequestRefusal::Unavailable("the session cannot be set up; try again later".to_owned()))
    }

    /// Opens the session `id` of another process in this one, where it rests. Returns `false` if there is no such session.
    async fn load_session(&self, id: &str, identity: Option<&Arc<Identity>>) -> Result<bool, RequestRefusal> {
        let Some(store) = &self.store else { return Ok(false) };
        let stored = store.load(id).await.map_err(|error| {
            tracing::error!(%error, "a request is refused: its session cannot be loaded");
            let problem = "the store of the sessions does not answer; try again later";
            RequestRefusal::Unavailable(problem.to_owned())
        })?;
        let Some(stored) = stored else { return Ok(false) };
        let initialize = serde_json::to_string(&stored.initialize_params).map_err(|error| {
            tracing::error!(%error, "a request is refused: its session cannot be written");
            RequestRefusal::Unavailable("the session cannot be set up".to_owned())
        })?;
        let new = NewSession {
            identity: identity.cloned(),
            state: Arc::new(SessionState::new(&self.shared)),
            initialize: Some(initialize.into()),
        };
        self.open_in_table(&id.into(), new).map_err(RequestRefusal::Sessions)?;
        Ok(true)
    }

    /// Sets the session `id` up under the lock `waking`, unless it does not rest any more.
    async fn wake_session_once(
        self: Arc<Self>,
        id: SessionId,
        waking: Arc<AsyncMutex<()>>,
        stop: CancellationToken,
    ) -> Result<(), SessionsError> {
        let _waking = waking.lock().await;
        let Some(resting) = self.table.resting_session(&id) else { return Ok(()) };
        let woken = self.wake_session(resting, stop).await;
        if self.table.state(&id).is_none() {
            // It has ended meanwhile: who asked for it looks for it again.
            self.table.local.close_session(&id).await.ok();
            return Ok(());
        }
        if let Err(error) = &woken {
            tracing::error!(session = &*id, %error, "a session that rested cannot be set up again");
            self.table.remove(&id);
            self.table.local.close_session(&id).await.ok();
        }
        woken
    }

    /// Sets a session up again, as the SDK sets up one that it restores.
    async fn wake_session(
        &self,
        resting: RestingSession,
        stop: CancellationToken,
    ) -> Result<(), SessionsError> {
        let RestingSession { id, initialize, state } = resting;
        let params: InitializeRequestParams =
            serde_json::from_str(&initialize).map_err(|_| SessionError::SessionServiceTerminated)?;
        // The settings of before this process had the session; those after it reach this process as messages.
        #[cfg(feature = "postgres")]
        if let Some(cluster) = &self.cluster {
            let settings = cluster.load_session_settings(&id).await.map_err(SessionsError::Cluster)?;
            settings.iter().for_each(|setting| state.apply_setting(setting));
        }
        let gone = || SessionsError::from(LocalSessionManagerError::SessionNotFound(Arc::clone(&id)));
        // It may have ended since.
        let ReadySession { activity, end } = self.table.set_up_session(&id).ok_or_else(gone)?;
        let RestoreOutcome::Restored(transport) = self.table.local.restore_session(Arc::clone(&id)).await?
        else {
            return Err(gone());
        };
        let transport = self.session_transport(transport, activity, end);
        let handler = RequestHandler::new(Arc::clone(&self.shared), Arc::clone(&state));
        self.table.tasks.spawn(async move {
            let serving = serve_server_with_ct::<_, _, _, TransportAdapterIdentity>(handler, transport, stop);
            match serving.await {
                Ok(serving) => drop(serving.waiting().await),
                Err(error) => tracing::error!(%error, "a session that rested cannot be served"),
            }
        });
        let request = ClientRequest::InitializeRequest(Request::new(params));
        let request = ClientJsonRpcMessage::request(request, RequestId::Number(0));
        self.table.local.initialize_session(&id, request).await?;
        let initialized = ClientNotification::InitializedNotification(InitializedNotification::default());
        self.table.local.accept_message(&id, ClientJsonRpcMessage::notification(initialized)).await?;
        Ok(())
    }
}
