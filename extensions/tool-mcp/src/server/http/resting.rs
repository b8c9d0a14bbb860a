//! Sessions that rest are set up again.

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
            RestoreOutcome, SessionManager as _,
            local::{LocalSessionManagerError, SessionError},
        },
    },
};
use tool_runtime::CancellationToken;

use super::{
    activity::OpenStream,
    session_error::SessionsError,
    sessions::HttpSessions,
    table::{ReadySession, RestingSession},
};
use crate::server::handler::RequestHandler;

impl HttpSessions {
    /// Keeps the session `id` from resting, if there is one, and sets it up again if it rests. `stop` ends its handler.
    pub(super) async fn use_and_wake_session(
        &self,
        id: &str,
        stop: &CancellationToken,
    ) -> Option<OpenStream> {
        let (used, waking) = self.table.hold_session_and_wake_lock(id)?;
        if let Some(waking) = waking {
            let _waking = waking.lock().await;
            // Another request may have set it up.
            if let Some(resting) = self.table.resting_session(id)
                && let Err(error) = Box::pin(self.wake_session(resting, stop.child_token())).await
            {
                tracing::error!(session = id, %error, "a session that rested cannot be set up again");
                self.table.remove(id);
                self.table.local.close_session(&id.into()).await.ok();
            }
        }
        Some(used)
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
        let gone = || SessionsError::from(LocalSessionManagerError::SessionNotFound(Arc::clone(&id)));
        // It may have ended since.
        let ready =
            self.table.set_up_session(&id, None, || Arc::clone(&state), self.idle_time, |_| Some(gone()))?;
        let ReadySession { activity, end } = ready;
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
