//! The sessions of a server over HTTP: the SDK's, with a limit on their number, which end when they are idle.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_core::Stream;
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, InitializeRequestParams,
        InitializedNotification, Request, RequestId, ServerJsonRpcMessage,
    },
    service::serve_server_with_ct,
    transport::{
        TransportAdapterIdentity,
        streamable_http_server::session::{
            EventStore, RestoreOutcome, ServerSseMessage, SessionId, SessionManager,
            local::{LocalSessionManager, LocalSessionManagerError, SessionConfig, SessionError},
        },
    },
};
use tool_runtime::CancellationToken;

use super::{
    HttpConfig, Identity,
    activity::{Activity, AnsweredRequest, OpenStream, stream_of_event_id},
    current_request::{CurrentRequest, REQUEST},
    refusal::RequestRefusal,
    streams::{ActiveStream, SessionTransport, StreamListener},
    table::{OpenSession, ReadySession, RestingSession, SessionTable},
};
use crate::server::{handler::RequestHandler, requests::RefusedMessage, server_state::ServerState};

/// A limit of sessions that is reached.
#[derive(Debug, Clone, Copy)]
pub(super) enum SessionLimit {
    Server(usize),
    /// The limit of each identity.
    Caller(usize),
}

impl fmt::Display for SessionLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(limit) => write!(f, "{limit} sessions are open, the limit of the server"),
            Self::Caller(limit) => {
                write!(f, "{limit} sessions of this caller are open, the limit of each caller")
            }
        }
    }
}

/// The sessions of a server.
pub(super) struct HttpSessions {
    pub(super) table: Arc<SessionTable>,
    limit: usize,
    /// The limit of one identity.
    of_caller: usize,
    idle_time: Duration,
    resume_time: Duration,
    shared: Arc<ServerState>,
}

/// The reason why a session is not served.
#[derive(Debug)]
pub(super) enum SessionsError {
    Full(SessionLimit),
    /// A request of the session has the id of another one.
    IdInUse,
    Local(LocalSessionManagerError),
}

impl fmt::Display for SessionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(full) => full.fmt(f),
            Self::IdInUse => f.write_str("the id of the request is in use"),
            Self::Local(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionsError {}

impl From<SessionError> for SessionsError {
    fn from(error: SessionError) -> Self {
        Self::Local(error.into())
    }
}

impl From<LocalSessionManagerError> for SessionsError {
    fn from(error: LocalSessionManagerError) -> Self {
        Self::Local(error)
    }
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
        let max_ready = if config.event_store.is_some() { usize::MAX } else { config.max_ready_sessions };
        shared.announces_to_streams.store(config.event_store.is_none(), Ordering::Relaxed);
        Self {
            table: SessionTable::new(local, max_ready),
            limit: config.max_sessions,
            of_caller: config.max_sessions_per_caller,
            idle_time: config.idle_time,
            resume_time: config.resume_time,
            shared,
        }
    }

    /// Returns `true` if the session `id` was opened by `identity`. Its id says so, so that any process of the server can tell.
    pub(super) fn belongs_to(&self, id: &str, identity: &Identity) -> bool {
        self.shared.seals.is_id_of_caller(id, &identity.subject)
    }

    /// Opens or restores the session `id`, unless the limit is reached; it ends when it is idle.
    async fn admit_session(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<<Self as SessionManager>::Transport>, SessionsError> {
        let current = REQUEST.try_with(Arc::clone).unwrap_or_default();
        let identity = current.identity().cloned();
        let state = || current.session_state(&self.shared);
        let is_full =
            |open: &mut dyn Iterator<Item = &OpenSession>| self.exceeded_limit(open, identity.as_deref());
        let ready = self.table.set_up(&id, identity.clone(), state, self.idle_time, is_full);
        let ReadySession { activity, end } = ready.map_err(|full| {
            current.refuse(RequestRefusal::Sessions(full));
            SessionsError::Full(full)
        })?;
        // Until the request is answered, it does not rest; its handler has the state that it had.
        current.hold_session(activity.open_stream());
        if let Some(state) = self.table.state(&id) {
            current.set_state(state);
        }
        match self.table.local.restore_session(Arc::clone(&id)).await {
            Ok(RestoreOutcome::Restored(transport)) => {
                Ok(RestoreOutcome::Restored(SessionTransport { transport, activity, _end: end }))
            }
            Ok(RestoreOutcome::AlreadyPresent) => Ok(RestoreOutcome::AlreadyPresent),
            Ok(_) => Ok(RestoreOutcome::NotSupported),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps the session `id` from resting, if there is one, and sets it up again if it rests. `stop` ends its handler.
    pub(super) async fn use_session(&self, id: &str, stop: &CancellationToken) -> Option<OpenStream> {
        let (used, waking) = self.table.use_session(id)?;
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
        let ready = self.table.set_up(&id, None, || Arc::clone(&state), self.idle_time, |_| Some(gone()))?;
        let ReadySession { activity, end } = ready;
        let RestoreOutcome::Restored(transport) = self.table.local.restore_session(Arc::clone(&id)).await?
        else {
            return Err(gone());
        };
        let transport = SessionTransport { transport, activity, _end: end };
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

    /// The limit that one more session of `identity` exceeds, if it does.
    fn exceeded_limit(
        &self,
        open: &mut dyn Iterator<Item = &OpenSession>,
        identity: Option<&Identity>,
    ) -> Option<SessionLimit> {
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
    /// what identifies the stream, if that is known.
    fn active_stream<S, F>(
        &self,
        id: &SessionId,
        request: Option<(RequestId, Option<String>)>,
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
        let sealing = self.table.local.event_store().map(|_| (Arc::clone(&self.shared), Arc::clone(id)));
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

impl SessionManager for HttpSessions {
    type Error = SessionsError;
    type Transport = SessionTransport<<LocalSessionManager as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let subject = |request: &Arc<CurrentRequest>| request.identity().map(|it| it.subject.clone());
        let subject = REQUEST.try_with(subject).ok().flatten().unwrap_or_default();
        let id = SessionId::from(self.shared.seals.new_sealed_id(&subject));
        match self.admit_session(Arc::clone(&id)).await? {
            RestoreOutcome::Restored(transport) => Ok((id, transport)),
            // A new id that is in use.
            _ => Err(LocalSessionManagerError::SessionNotFound(id).into()),
        }
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        if let ClientJsonRpcMessage::Request(request) = &message
            && let ClientRequest::InitializeRequest(initialize) = &request.request
            && let Ok(params) = serde_json::to_string(&initialize.params)
        {
            self.table.set_initialize(id, params.into());
        }
        Ok(self.table.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.table.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // The SDK calls this for a handler that has ended, too: such a session has ended with its transport, or rests.
        if REQUEST.try_with(|_| ()).is_err() {
            return Ok(());
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
            self.active_stream(id, request, Box::pin(self.table.local.create_stream(id, message)))
        });
        async move {
            let Some(stream) = stream else {
                if let (Some((request, _)), Ok(current)) = (begun, REQUEST.try_with(Arc::clone)) {
                    current.refuse(RequestRefusal::Message(RefusedMessage::with_id_in_use(request)));
                }
                return Err(SessionsError::IdInUse);
            };
            let stream = stream.await;
            if let (Err(_), Some((request, activity))) = (&stream, begun) {
                activity.forget_request(&request);
            }
            stream
        }
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        if let Some(activity) = self.table.activity(id) {
            activity.note_use();
        }
        Ok(self.table.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.active_stream(id, None, self.table.local.create_standalone_stream(id)).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let resumed = |activity: Arc<Activity>| {
            let stream = stream_of_event_id(&last_event_id)?;
            Some((activity.resume_request(stream)?, Some(stream.to_owned())))
        };
        let request = self.table.activity(id).and_then(resumed);
        let resuming = async {
            // The store knows events, and not whose they are.
            let last = match self.table.local.event_store() {
                None => last_event_id,
                Some(_) => {
                    let opened = self.shared.seals.opened_event_id(&last_event_id, id);
                    opened.ok_or(SessionError::InvalidEventId)?
                }
            };
            self.table.local.resume(id, last).await
        };
        self.active_stream(id, request, resuming).await
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        self.admit_session(id).await
    }

    fn event_store(&self) -> Option<Arc<dyn EventStore>> {
        self.table.local.event_store()
    }
}
