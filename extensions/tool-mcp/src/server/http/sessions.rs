//! The sessions of a server over HTTP: the SDK's, with a limit on their number, which end when they are idle.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_core::Stream;
#[cfg(feature = "postgres")]
use rmcp::transport::streamable_http_server::session::SessionState as StoredState;
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{
        EventStore, RestoreOutcome, ServerSseMessage, SessionId, SessionManager, SessionStore,
        local::{LocalSessionManager, LocalSessionManagerError, SessionConfig, SessionError},
    },
};

#[cfg(feature = "postgres")]
use super::{
    Cluster,
    cluster::{refuse_if_event_store_failed, refuse_without_database},
};
use super::{
    HttpConfig, Identity,
    activity::{AnsweredRequest, SessionActivity, stream_of_event_id},
    current_request::{CurrentRequest, REQUEST},
    refusal::RequestRefusal,
    session_error::{SessionLimit, SessionsError},
    streams::{ActiveStream, EventSealing, SessionTransport, StreamListener},
    table::{NewSession, OpenSession, ReadySession, SessionEnd, SessionTable},
};
use crate::server::{requests::RefusedMessage, server_state::ServerState};

/// The sessions of a server.
pub(super) struct HttpSessions {
    pub(super) table: Arc<SessionTable>,
    pub(super) limit: usize,
    /// The limit of one identity.
    pub(super) of_caller: usize,
    pub(super) idle_time: Duration,
    resume_time: Duration,
    pub(super) shared: Arc<ServerState>,
    /// The sessions that other processes opened.
    pub(super) store: Option<Arc<dyn SessionStore>>,
    #[cfg(feature = "postgres")]
    pub(super) cluster: Option<Cluster>,
}

impl HttpSessions {
    pub(super) fn new(config: &HttpConfig, shared: Arc<ServerState>) -> Self {
        let mut local = LocalSessionManager::default();
        let mut settings = SessionConfig::default();
        // The SDK's own clock ends a session whose call runs for longer.
        settings.keep_alive = None;
        local.session_config = settings;
        if let Some(store) = &config.event_store {
            local = local.with_event_store(Arc::clone(store));
        }
        // The events of a session are stored while no client receives them, for which it is set up.
        #[cfg(feature = "postgres")]
        let is_stored_elsewhere = config.cluster.is_some();
        #[cfg(not(feature = "postgres"))]
        let is_stored_elsewhere = false;
        let max_ready = match config.event_store.is_none() || is_stored_elsewhere {
            true => config.max_ready_sessions,
            false => usize::MAX,
        };
        shared.announces_to_streams.store(config.event_store.is_none(), Ordering::Relaxed);
        Self {
            table: SessionTable::new(local, max_ready),
            limit: config.max_sessions,
            of_caller: config.max_sessions_per_caller,
            idle_time: config.idle_time,
            resume_time: config.resume_time,
            shared,
            store: config.session_store.clone(),
            #[cfg(feature = "postgres")]
            cluster: config.cluster.clone(),
        }
    }

    /// Returns `true` if the session `id` was opened by `identity`. Its id says so, so that any process of the server can tell.
    pub(super) fn belongs_to(&self, id: &str, identity: &Identity) -> bool {
        self.shared.seals.is_id_of_caller(id, &identity.subject)
    }

    /// Opens the session `id`, which is new, unless the limit is reached; it ends when it is idle.
    async fn open_session(
        &self,
        id: SessionId,
    ) -> Result<<Self as SessionManager>::Transport, SessionsError> {
        let current = REQUEST.try_with(Arc::clone).unwrap_or_default();
        let state = current.session_state_or_new(&self.shared);
        let new = NewSession { identity: current.identity().cloned(), state, initialize: None };
        if let Err(full) = self.open_in_table(&id, new) {
            current.refuse(RequestRefusal::Sessions(full));
            return Err(SessionsError::Full(full));
        }
        let in_use = || LocalSessionManagerError::SessionNotFound(Arc::clone(&id));
        let ReadySession { activity, end } = self.table.set_up_session(&id).ok_or_else(in_use)?;
        // Until the request is answered, it does not rest.
        current.hold_session(activity.open_stream());
        match self.table.local.restore_session(Arc::clone(&id)).await? {
            RestoreOutcome::Restored(transport) => Ok(self.session_transport(transport, activity, end)),
            _ => Err(in_use().into()),
        }
    }

    /// Opens a session in this process, unless a limit is reached.
    pub(super) fn open_in_table(&self, id: &SessionId, new: NewSession) -> Result<(), SessionLimit> {
        let identity = new.identity.clone();
        let is_full =
            |open: &mut dyn Iterator<Item = &OpenSession>| self.exceeded_limit(open, identity.as_deref());
        self.table.open_session(id, new, self.idle_time, is_full)
    }

    pub(super) fn session_transport<T>(
        &self,
        transport: T,
        activity: Arc<SessionActivity>,
        end: SessionEnd,
    ) -> SessionTransport<T> {
        SessionTransport {
            transport,
            activity,
            #[cfg(feature = "postgres")]
            cluster: self.cluster.clone(),
            _end: end,
        }
    }

    /// The limit that one more session of `identity` exceeds, if it does.
    fn exceeded_limit(
        &self,
        open: &mut dyn Iterator<Item = &OpenSession>,
        identity: Option<&Identity>,
    ) -> Option<SessionLimit> {
        // Those of a cluster are counted when they are opened.
        #[cfg(feature = "postgres")]
        if self.cluster.is_some() {
            return None;
        }
        let (mut all, mut own) = (0, 0);
        for session in open {
            all += 1;
            let of = session.identity.as_ref();
            own += usize::from(of.is_some() && of.map(|of| &of.subject) == identity.map(|it| &it.subject));
        }
        match () {
            () if all >= self.limit => Some(SessionLimit::Server(self.limit)),
            () if own >= self.of_caller && identity.is_some() => Some(SessionLimit::Caller(self.of_caller)),
            () => None,
        }
    }

    /// A stream of a session, which is not idle as long as the stream is open. `request` is the request that it answers, with
    /// what identifies the stream, if that is known; `resumed` is the one whose stored events it has.
    fn active_stream<S, F>(
        &self,
        id: &SessionId,
        request: Option<(RequestId, Option<String>)>,
        resumed: Option<RequestId>,
        stream: F,
    ) -> impl Future<Output = Result<ActiveStream, SessionsError>> + Send
    where
        S: Stream<Item = ServerSseMessage> + Send + Sync + 'static,
        F: Future<Output = Result<S, LocalSessionManagerError>> + Send,
    {
        let activity = self.table.activity(id).unwrap_or_default();
        // A stream of no request is one of the session itself.
        let listening = match &request {
            None => self.table.state(id).map(StreamListener::new),
            Some(_) => None,
        };
        let sealing = self.table.local.event_store().map(|_| EventSealing {
            shared: Arc::clone(&self.shared),
            session: Arc::clone(id),
            request: resumed.or_else(|| request.as_ref().map(|(request, _)| request.clone())),
        });
        let answers = request.map(|(request, stream)| AnsweredRequest {
            request,
            stream,
            sessions: Arc::downgrade(&self.table),
            session: Arc::clone(id),
            resume_time: self.resume_time,
        });
        // Before the request begins: its first line comes at once.
        let logs = answers.as_ref().map(|answers| activity.open_log_channel(answers.request.clone()));
        async move {
            let opened = activity.open_stream();
            let stream = Box::pin(stream.await?);
            Ok(ActiveStream {
                stream,
                opened,
                answers,
                _listening: listening,
                logs,
                is_answered: false,
                held: None,
                sealing,
            })
        }
    }
}

/// The events of a stream.
pub(super) type StreamEvents = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

impl SessionManager for HttpSessions {
    type Error = SessionsError;
    type Transport = SessionTransport<<LocalSessionManager as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let subject = |request: &Arc<CurrentRequest>| request.identity().map(|it| it.subject.clone());
        let subject = REQUEST.try_with(subject).ok().flatten().unwrap_or_default();
        let id = SessionId::from(self.shared.seals.new_sealed_id(&subject));
        #[cfg(feature = "postgres")]
        self.open_in_cluster(&id).await?;
        let transport = self.open_session(Arc::clone(&id)).await?;
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        #[cfg(feature = "postgres")]
        let mut state = None;
        if let ClientJsonRpcMessage::Request(request) = &message
            && let ClientRequest::InitializeRequest(initialize) = &request.request
            && let Ok(params) = serde_json::to_string(&initialize.params)
        {
            self.table.set_initialize_params(id, params.into());
            #[cfg(feature = "postgres")]
            {
                state = self.cluster.as_ref().map(|_| StoredState::new(initialize.params.clone()));
            }
        }
        let answer = self.table.local.initialize_session(id, message).await?;
        // Before the client knows of the session.
        #[cfg(feature = "postgres")]
        if let (Some(cluster), Some(state)) = (&self.cluster, state) {
            cluster.store_session_state(id, &state).await.map_err(refuse_without_database)?;
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.table.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // The SDK calls this for a handler that has ended, too: such a session has ended with its transport, or rests.
        if REQUEST.try_with(|_| ()).is_err() {
            return Ok(());
        }
        #[cfg(feature = "postgres")]
        if let Some(cluster) = &self.cluster {
            cluster.end_session_everywhere(id).await.map_err(refuse_without_database)?;
        }
        self.table.remove(id);
        Ok(self.table.local.close_session(id).await?)
    }

    fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> impl Future<
        Output = Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error>,
    > + Send {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        // The SDK would send the answer of the one to the stream of the other.
        let begun = request.clone().zip(self.table.activity(id));
        let is_in_use = begun.as_ref().is_some_and(|(request, activity)| !activity.begin_request(request));
        // Boxed, so that the message is moved once.
        let stream = (!is_in_use).then(|| {
            let request = request.map(|request| (request, None));
            self.active_stream(id, request, None, Box::pin(self.table.local.create_stream(id, message)))
        });
        async move {
            let Some(stream) = stream else {
                if let (Some((request, _)), Ok(current)) = (begun, REQUEST.try_with(Arc::clone)) {
                    current.refuse(RequestRefusal::Message(RefusedMessage::with_id_in_use(request)));
                }
                return Err(SessionsError::IdInUse);
            };
            let stream = stream.await;
            #[cfg(feature = "postgres")]
            let stream = stream.map_err(refuse_if_event_store_failed);
            if let (Err(_), Some((request, activity))) = (&stream, begun) {
                activity.forget_request(&request);
            }
            stream
        }
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        let activity = self.table.activity(id);
        if let Some(activity) = &activity {
            activity.note_use();
        }
        #[cfg(feature = "postgres")]
        let message = match &self.cluster {
            Some(cluster) => {
                let has_request = |id: &RequestId| activity.is_some_and(|it| it.has_request(id));
                match cluster
                    .route_message(id, message, has_request)
                    .await
                    .map_err(refuse_without_database)?
                {
                    Some(message) => message,
                    None => return Ok(()),
                }
            }
            None => message,
        };
        Ok(self.table.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let opening = async {
            #[cfg(feature = "postgres")]
            if let Some(cluster) = &self.cluster {
                return self.follow_session_stream(cluster, id, None).await;
            }
            Ok(Box::pin(self.table.local.create_standalone_stream(id).await?) as StreamEvents)
        };
        self.active_stream(id, None, None, opening).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let resumed = |activity: Arc<SessionActivity>| {
            let stream = stream_of_event_id(&last_event_id)?;
            Some((activity.take_lost_request(stream)?, Some(stream.to_owned())))
        };
        let request = self.table.activity(id).and_then(resumed);
        // The store knows events, and not whose they are.
        let event_store = self.table.local.event_store();
        let opened = event_store.map(|_| EventSealing::unseal_event_id(&self.shared, &last_event_id, id));
        let answered = opened.as_ref().and_then(|opened| opened.as_ref()?.1.clone());
        let resuming = async {
            let (last, _request) = match opened {
                None => (last_event_id, None),
                Some(opened) => opened.ok_or(SessionError::InvalidEventId)?,
            };
            #[cfg(feature = "postgres")]
            if let Some(cluster) = &self.cluster {
                return self.continue_stream(cluster, id, &last, _request).await;
            }
            Ok(Box::pin(self.table.local.resume(id, last).await?) as StreamEvents)
        };
        self.active_stream(id, request, answered, resuming).await
    }

    fn event_store(&self) -> Option<Arc<dyn EventStore>> {
        // Of a request without a session; those of sessions are in the table.
        #[cfg(feature = "postgres")]
        if let Some(cluster) = &self.cluster
            && let Ok(current) = REQUEST.try_with(Arc::clone)
        {
            return Some(cluster.request_event_store(&current));
        }
        self.table.local.event_store()
    }
}
