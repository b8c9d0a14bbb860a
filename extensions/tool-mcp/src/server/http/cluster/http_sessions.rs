//! The sessions of a server in its cluster.

use std::sync::Arc;

use rmcp::{
    model::RequestId,
    transport::streamable_http_server::session::{
        SessionId, SessionManager as _,
        local::{LocalSessionManagerError, SessionError},
    },
};

use super::{Cluster, ClusterError, EventToken, SessionLimits};
use crate::server::http::{
    current_request::REQUEST,
    refusal::RequestRefusal,
    session_error::SessionsError,
    sessions::{HttpSessions, StreamEvents},
    table::SessionTable,
};

impl SessionTable {
    /// Forgets a session that has ended in another process.
    pub(in crate::server::http) async fn forget_ended_session(&self, id: &str) {
        self.remove(id);
        if let Err(error) = self.local.close_session(&id.into()).await {
            tracing::warn!(%error, "a session that ended cannot be closed");
        }
    }
}

impl HttpSessions {
    /// Opens the session `id` for all processes of a cluster.
    pub(in crate::server::http) async fn open_in_cluster(&self, id: &SessionId) -> Result<(), SessionsError> {
        let Some(cluster) = &self.cluster else { return Ok(()) };
        let current = REQUEST.try_with(Arc::clone).unwrap_or_default();
        let caller = current.identity().map(|identity| &*identity.subject);
        let limits = SessionLimits {
            max_sessions: self.limit,
            max_per_caller: self.of_caller,
            idle_time: self.idle_time,
        };
        match cluster.open_session(id, caller, limits).await.map_err(refuse_without_database)? {
            None => Ok(()),
            Some(full) => {
                current.refuse(RequestRefusal::Sessions(full));
                Err(SessionsError::Full(full))
            }
        }
    }

    /// Opens the stream of a session itself, after the event of `token` if there is one.
    pub(in crate::server::http) async fn follow_session_stream(
        &self,
        cluster: &Cluster,
        id: &SessionId,
        token: Option<EventToken>,
    ) -> Result<StreamEvents, LocalSessionManagerError> {
        let gone = || LocalSessionManagerError::SessionNotFound(Arc::clone(id));
        let state = self.table.state(id).ok_or_else(gone)?;
        let stream = cluster.follow_session_stream(id, state, token).await;
        Ok(Box::pin(stream.map_err(|error| SessionError::EventStore(error.into()))?))
    }

    /// Continues a stream after the event `last`. `request` is the one that it answers.
    pub(in crate::server::http) async fn continue_stream(
        &self,
        cluster: &Cluster,
        id: &SessionId,
        last: &str,
        request: Option<RequestId>,
    ) -> Result<StreamEvents, LocalSessionManagerError> {
        let token = EventToken::unseal(cluster, last).ok_or(SessionError::InvalidEventId)?;
        match request {
            None => self.follow_session_stream(cluster, id, Some(token)).await,
            Some(request) => Ok(Box::pin(cluster.follow_request_stream(token, request))),
        }
    }
}

/// Refuses the request, since the database does not answer.
pub(in crate::server::http) fn refuse_without_database(error: ClusterError) -> SessionsError {
    tracing::error!(%error, "a request is refused");
    let problem = "the database of the server does not answer; try again later".to_owned();
    REQUEST.try_with(|request| request.refuse(RequestRefusal::Unavailable(problem))).ok();
    SessionsError::Cluster(error)
}

/// Refuses a request that was not begun, if the reason is the database.
pub(in crate::server::http) fn refuse_if_event_store_failed(error: SessionsError) -> SessionsError {
    match error {
        SessionsError::Local(LocalSessionManagerError::SessionError(SessionError::EventStore(error))) => {
            refuse_without_database(ClusterError::Unavailable(error.to_string()))
        }
        error => error,
    }
}
