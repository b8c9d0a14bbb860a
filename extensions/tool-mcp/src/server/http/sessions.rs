//! The sessions of a server over HTTP: the SDK's, with a limit on their number, which end when they are idle.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use futures_core::Stream;
use rmcp::{
    model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{
        EventStore, RestoreOutcome, ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionManager, LocalSessionManagerError, SessionConfig, SessionError},
    },
};
use tokio::{task::AbortHandle, time::Instant};

use super::{
    HttpConfig, Identity,
    refusal::Refusal,
    streams::{Active, Activity, Answers, Routed, stream_of},
};
use crate::server::handler::Shared;

tokio::task_local! {
    /// The request that the SDK handles.
    pub(super) static REQUEST: Arc<Underway>;
}

/// A request that the SDK handles, for what the SDK does not pass on.
#[derive(Debug, Default)]
pub(super) struct Underway {
    refusal: OnceLock<Refusal>,
    /// The id of the request, if the SDK reads its body.
    id: OnceLock<RequestId>,
    identity: Option<Arc<Identity>>,
}

impl Underway {
    pub(super) fn of(identity: Option<Arc<Identity>>) -> Self {
        Self { refusal: OnceLock::new(), id: OnceLock::new(), identity }
    }

    pub(super) fn refuse(&self, refusal: Refusal) {
        self.refusal.set(refusal).ok();
    }

    /// Returns the reason why the request is refused, if it is.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        self.refusal.get()
    }

    pub(super) fn set_id(&self, id: RequestId) {
        self.id.set(id).ok();
    }

    pub(super) fn id(&self) -> Option<&RequestId> {
        self.id.get()
    }
}

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
pub(super) struct Sessions {
    local: Arc<LocalSessionManager>,
    open: Arc<OpenSessions>,
    limit: usize,
    /// The limit of one identity.
    of_caller: usize,
    idle_time: Duration,
    resume_time: Duration,
    shared: Arc<Shared>,
}

type OpenSessions = Mutex<HashMap<SessionId, Watched>>;

/// The reason why a session is not served.
#[derive(Debug)]
pub(super) enum SessionsError {
    Full(SessionLimit),
    Local(LocalSessionManagerError),
}

impl fmt::Display for SessionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(full) => full.fmt(f),
            Self::Local(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionsError {}

impl From<LocalSessionManagerError> for SessionsError {
    fn from(error: LocalSessionManagerError) -> Self {
        Self::Local(error)
    }
}

impl Sessions {
    pub(super) fn new(config: &HttpConfig, shared: Arc<Shared>) -> Self {
        let mut local = LocalSessionManager::default();
        let mut settings = SessionConfig::default();
        // The SDK's own clock ends a session whose call runs for longer.
        settings.keep_alive = None;
        local.session_config = settings;
        if let Some(store) = &config.event_store {
            local = local.with_event_store(Arc::clone(store));
        }
        Self {
            local: Arc::new(local),
            open: Arc::default(),
            limit: config.max_sessions,
            of_caller: config.max_sessions_per_caller,
            idle_time: config.idle_time,
            resume_time: config.resume_time,
            shared,
        }
    }

    /// Returns `true` if the session `id` was opened by `identity`. Its id says so, so that any process of the server can tell.
    pub(super) fn belongs_to(&self, id: &str, identity: &Identity) -> bool {
        self.shared.seals.opens_id(id, &identity.subject)
    }

    /// The number of sessions that are open.
    pub(super) fn open(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Watched>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the session `id`, unless the limit is reached; it ends when it is idle.
    async fn admit(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<<Self as SessionManager>::Transport>, SessionsError> {
        let activity = self.reserve(&id)?;
        match self.local.restore_session(Arc::clone(&id)).await {
            Ok(RestoreOutcome::Restored(transport)) => {
                Ok(RestoreOutcome::Restored(Routed { transport, activity }))
            }
            Ok(RestoreOutcome::AlreadyPresent) => Ok(RestoreOutcome::AlreadyPresent),
            Ok(_) => Ok(RestoreOutcome::NotSupported),
            Err(error) => {
                self.lock().remove(&id);
                Err(error.into())
            }
        }
    }

    /// Counts the session `id`.
    fn reserve(&self, id: &SessionId) -> Result<Arc<Activity>, SessionsError> {
        let mut open = self.lock();
        if let Some(watched) = open.get(id) {
            return Ok(Arc::clone(&watched.activity));
        }
        let identity = REQUEST.try_with(|request| request.identity.clone()).ok().flatten();
        if let Some(full) = self.full(&open, identity.as_deref()) {
            REQUEST.try_with(|request| request.refuse(Refusal::Sessions(full))).ok();
            return Err(SessionsError::Full(full));
        }
        let activity = Arc::new(Activity::default());
        let task = tokio::spawn(end_when_idle(
            Arc::downgrade(&self.local),
            Arc::clone(id),
            Arc::clone(&activity),
            self.idle_time,
        ));
        let watched = Watched { activity: Arc::clone(&activity), identity, task: task.abort_handle() };
        open.insert(Arc::clone(id), watched);
        Ok(activity)
    }

    /// The limit that one more session of `identity` exceeds, if it does.
    fn full(&self, open: &HashMap<SessionId, Watched>, identity: Option<&Identity>) -> Option<SessionLimit> {
        if open.len() >= self.limit {
            return Some(SessionLimit::Server(self.limit));
        }
        let subject = &identity?.subject;
        let is_own = |it: &&Watched| it.identity.as_ref().is_some_and(|of| of.subject == *subject);
        let own = open.values().filter(is_own).count();
        (own >= self.of_caller).then_some(SessionLimit::Caller(self.of_caller))
    }

    fn activity(&self, id: &SessionId) -> Option<Arc<Activity>> {
        self.lock().get(id).map(|it| Arc::clone(&it.activity))
    }

    /// A stream of a session, which is not idle as long as the stream is open. `request` is the request that it answers, with
    /// what identifies the stream, if that is known.
    fn active<S, F>(
        &self,
        id: &SessionId,
        request: Option<(RequestId, Option<String>)>,
        stream: F,
    ) -> impl Future<Output = Result<Active, SessionsError>> + Send
    where
        S: Stream<Item = ServerSseMessage> + Send + Sync + 'static,
        F: Future<Output = Result<S, LocalSessionManagerError>> + Send,
    {
        let activity = self.activity(id).unwrap_or_default();
        let sealing = self.local.event_store().map(|_| (Arc::clone(&self.shared), Arc::clone(id)));
        let answers = request.map(|(request, stream)| Answers {
            request,
            stream,
            sessions: Arc::downgrade(&self.local),
            session: Arc::clone(id),
            resume_time: self.resume_time,
        });
        // Before the request begins: its first line comes at once.
        let logs = answers.as_ref().map(|answers| activity.log_to(answers.request.clone()));
        async move {
            let opened = activity.opened();
            let stream = Box::pin(stream.await?);
            Ok(Active { stream, opened, answers, logs, is_answered: false, held: None, sealing })
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = Routed<<LocalSessionManager as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let subject = |request: &Arc<Underway>| request.identity.as_ref().map(|it| it.subject.clone());
        let subject = REQUEST.try_with(subject).ok().flatten().unwrap_or_default();
        let id = SessionId::from(self.shared.seals.sealed_id(&subject));
        match self.admit(Arc::clone(&id)).await? {
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
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.lock().remove(id);
        Ok(self.local.close_session(id).await?)
    }

    fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> impl Future<
        Output = Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error>,
    > + Send {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some((request.id.clone(), None)),
            _ => None,
        };
        // Boxed, so that the message is moved once.
        self.active(id, request, Box::pin(self.local.create_stream(id, message)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        if let Some(activity) = self.activity(id) {
            activity.touch();
        }
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.active(id, None, self.local.create_standalone_stream(id)).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let resumed = |activity: Arc<Activity>| {
            let stream = stream_of(&last_event_id)?;
            Some((activity.resumed(stream)?, Some(stream.to_owned())))
        };
        let request = self.activity(id).and_then(resumed);
        let resuming = async {
            // The store knows events, and not whose they are.
            let last = match self.local.event_store() {
                None => last_event_id,
                Some(_) => {
                    let opened = self.shared.seals.opened_event(&last_event_id, id);
                    opened.ok_or(SessionError::InvalidEventId)?
                }
            };
            self.local.resume(id, last).await
        };
        self.active(id, request, resuming).await
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        self.admit(id).await
    }

    fn event_store(&self) -> Option<Arc<dyn EventStore>> {
        self.local.event_store()
    }
}

/// An open session, and the task that ends it.
struct Watched {
    activity: Arc<Activity>,
    identity: Option<Arc<Identity>>,
    task: AbortHandle,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn end_when_idle(
    sessions: Weak<LocalSessionManager>,
    id: SessionId,
    activity: Arc<Activity>,
    time: Duration,
) {
    loop {
        // Beyond the clock, the session never ends.
        let Some(at) = activity.idle_at(time) else { return };
        if at <= Instant::now() {
            break;
        }
        tokio::time::sleep_until(at).await;
    }
    tracing::debug!(session = &*id, "the session ends: it is idle");
    // The SDK closes the session then, which ends this task.
    if let Some(sessions) = sessions.upgrade()
        && let Err(error) = sessions.close_session(&id).await
    {
        tracing::warn!(session = &*id, %error, "the idle session cannot be ended");
    }
}
