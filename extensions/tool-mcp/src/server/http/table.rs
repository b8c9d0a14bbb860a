//! The open sessions, and those of them that rest.
//!
//! The SDK keeps tasks and channels for a session, of more than 60 KiB. A session without a request and a stream does not need them: beyond a
//! number of sessions, those that were used least recently rest. Of a session that rests, its state and the text of its `initialize` are
//! kept, with which the next request sets it up again.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::transport::streamable_http_server::session::{
    SessionId, SessionManager as _, local::LocalSessionManager,
};
use tokio::{runtime::Handle, sync::Mutex as AsyncMutex, time::Instant};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::{
    Identity,
    activity::{OpenStream, SessionActivity},
};
use crate::server::session_state::SessionState;

/// The sessions that are looked at for one that may rest.
const MAX_CANDIDATES: usize = 16;

/// The open sessions of a server.
pub(super) struct SessionTable {
    pub(super) local: LocalSessionManager,
    /// The most sessions that do not rest although they could.
    max_ready: usize,
    sessions: Mutex<OpenSessions>,
    incarnations: AtomicU64,
    /// The handlers of sessions that rested, and sessions that are being closed.
    pub(super) tasks: TaskTracker,
}

#[derive(Default)]
struct OpenSessions {
    open: HashMap<SessionId, OpenSession>,
    /// Those that do not rest, the least recently set up first.
    ready: VecDeque<SessionId>,
}

/// An open session, and the task that ends it.
pub(super) struct OpenSession {
    activity: Arc<SessionActivity>,
    state: Arc<SessionState>,
    pub(super) identity: Option<Arc<Identity>>,
    /// The JSON of the params of `initialize`, once it is answered.
    initialize: Option<Box<str>>,
    /// The number of the handler that serves the session; `None` while it rests.
    incarnation: Option<u64>,
    /// Locked while the session is set up again.
    waking: Arc<AsyncMutex<()>>,
    /// Ends the session when it is idle.
    _task: AbortOnDropHandle<()>,
}

impl OpenSessions {
    fn remove(&mut self, id: &str) -> Option<OpenSession> {
        let (id, session) = self.open.remove_entry(id)?;
        if session.incarnation.is_some() {
            self.ready.retain(|ready| *ready != id);
        }
        Some(session)
    }
}

/// A session that is set up.
pub(super) struct ReadySession {
    pub(super) activity: Arc<SessionActivity>,
    pub(super) end: SessionEnd,
}

impl SessionTable {
    pub(super) fn new(local: LocalSessionManager, max_ready: usize) -> Arc<Self> {
        let (sessions, incarnations, tasks) = (Mutex::default(), AtomicU64::new(0), TaskTracker::new());
        Arc::new(Self { local, max_ready, sessions, incarnations, tasks })
    }

    fn lock_sessions(&self) -> MutexGuard<'_, OpenSessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of open sessions.
    pub(super) fn len(&self) -> usize {
        self.lock_sessions().open.len()
    }

    /// Returns the number of sessions that do not rest.
    #[cfg(test)]
    pub(super) fn ready_session_count(&self) -> usize {
        self.lock_sessions().ready.len()
    }

    pub(super) fn activity(&self, id: &str) -> Option<Arc<SessionActivity>> {
        self.lock_sessions().open.get(id).map(|session| Arc::clone(&session.activity))
    }

    pub(super) fn state(&self, id: &str) -> Option<Arc<SessionState>> {
        self.lock_sessions().open.get(id).map(|session| Arc::clone(&session.state))
    }

    /// Returns the ids of the sessions that have a stream or a request.
    #[cfg(feature = "postgres")]
    pub(super) fn used_sessions(&self) -> Vec<String> {
        let sessions = self.lock_sessions();
        let used = sessions.open.iter().filter(|(_, session)| !session.activity.is_unused());
        used.map(|(id, _)| id.to_string()).collect()
    }

    /// Keeps the session `id` from resting, if there is one. Returns the lock of its set-up, too, if it rests.
    pub(super) fn hold_session_and_wake_lock(
        &self,
        id: &str,
    ) -> Option<(OpenStream, Option<Arc<AsyncMutex<()>>>)> {
        // Under the lock, under which a session is put to rest.
        let sessions = self.lock_sessions();
        let session = sessions.open.get(id)?;
        let waking = session.incarnation.is_none().then(|| Arc::clone(&session.waking));
        Some((session.activity.open_stream(), waking))
    }

    /// Sets the session `id` up: a new one if `is_full` returns nothing for those that are open, or one that rests.
    pub(super) fn set_up_session<E>(
        self: &Arc<Self>,
        id: &SessionId,
        identity: Option<Arc<Identity>>,
        state: impl FnOnce() -> Arc<SessionState>,
        idle_time: Duration,
        is_full: impl FnOnce(&mut dyn Iterator<Item = &OpenSession>) -> Option<E>,
    ) -> Result<ReadySession, E> {
        let mut sessions = self.lock_sessions();
        if !sessions.open.contains_key(id) {
            if let Some(full) = is_full(&mut sessions.open.values()) {
                return Err(full);
            }
            let activity = Arc::new(SessionActivity::default());
            let ending =
                end_session_when_idle(Arc::downgrade(self), Arc::clone(id), Arc::clone(&activity), idle_time);
            #[expect(clippy::disallowed_methods, reason = "the session aborts it")]
            let task = AbortOnDropHandle::new(tokio::spawn(ending));
            let session = OpenSession {
                activity,
                state: state(),
                identity,
                initialize: None,
                incarnation: None,
                waking: Arc::default(),
                _task: task,
            };
            sessions.open.insert(Arc::clone(id), session);
        }
        let incarnation = self.incarnations.fetch_add(1, Ordering::Relaxed);
        let sessions = &mut *sessions;
        // It was inserted above, unless it was there.
        let activity = match sessions.open.get_mut(id) {
            Some(session) => {
                if session.incarnation.replace(incarnation).is_none() {
                    sessions.ready.push_back(Arc::clone(id));
                }
                Arc::clone(&session.activity)
            }
            None => Arc::default(),
        };
        let end = SessionEnd { table: Arc::downgrade(self), id: Arc::clone(id), incarnation };
        Ok(ReadySession { activity, end })
    }

    /// Removes the session `id`.
    pub(super) fn remove(&self, id: &str) {
        // Dropped outside the lock, with code of the program.
        let _removed = self.lock_sessions().remove(id);
    }

    /// Removes all sessions. Those that are ready end with their handlers.
    pub(super) fn remove_all(&self) {
        let _removed = std::mem::take(&mut *self.lock_sessions());
    }

    /// Puts sessions to rest that are not used, beyond the number of those that need not.
    pub(super) fn rest_unused_sessions(&self) {
        let mut sessions = self.lock_sessions();
        let mut candidates = MAX_CANDIDATES.min(sessions.ready.len());
        while candidates > 0 && sessions.ready.len() > self.max_ready {
            candidates -= 1;
            let Some(id) = sessions.ready.pop_front() else { return };
            if !self.rest_if_unused(&mut sessions, &id) {
                sessions.ready.push_back(id);
            }
        }
    }

    /// Puts the session `id` to rest, if it is not used.
    fn rest_if_unused(&self, sessions: &mut OpenSessions, id: &SessionId) -> bool {
        let Some(session) = sessions.open.get_mut(id) else { return true };
        if session.initialize.is_none() || !session.activity.is_unused() {
            return false;
        }
        let Ok(mut local) = self.local.sessions.try_write() else { return false };
        // Without its handle, the tasks of the SDK end.
        local.remove(id);
        session.incarnation = None;
        tracing::trace!(session = &**id, "the session rests");
        true
    }

    /// Returns the session `id`, if it rests.
    pub(super) fn resting_session(&self, id: &str) -> Option<RestingSession> {
        let sessions = self.lock_sessions();
        let (id, session) = sessions.open.get_key_value(id)?;
        let initialize = session.initialize.clone().filter(|_| session.incarnation.is_none())?;
        Some(RestingSession { id: Arc::clone(id), initialize, state: Arc::clone(&session.state) })
    }

    /// Sets the JSON of the params with which the session is set up again.
    pub(super) fn set_initialize_params(&self, id: &str, initialize: Box<str>) {
        if let Some(session) = self.lock_sessions().open.get_mut(id) {
            session.initialize = Some(initialize);
        }
    }
}

/// A session that rests.
pub(super) struct RestingSession {
    pub(super) id: SessionId,
    pub(super) initialize: Box<str>,
    pub(super) state: Arc<SessionState>,
}

/// Ends the session with the handler of the SDK, unless it rests or has another one.
pub(super) struct SessionEnd {
    table: Weak<SessionTable>,
    id: SessionId,
    incarnation: u64,
}

impl Drop for SessionEnd {
    fn drop(&mut self) {
        let Some(table) = self.table.upgrade() else { return };
        // Dropped outside the lock.
        let _removed = {
            let mut sessions = table.lock_sessions();
            let incarnation = sessions.open.get(&self.id).and_then(|session| session.incarnation);
            match incarnation == Some(self.incarnation) {
                true => sessions.remove(&self.id),
                false => return,
            }
        };
        if let Ok(runtime) = Handle::try_current() {
            let id = Arc::clone(&self.id);
            let closing = Arc::clone(&table);
            table.tasks.spawn_on(async move { closing.local.close_session(&id).await.ok() }, &runtime);
        }
    }
}

async fn end_session_when_idle(
    table: Weak<SessionTable>,
    id: SessionId,
    activity: Arc<SessionActivity>,
    time: Duration,
) {
    loop {
        // Beyond the clock, the session never ends.
        let Some(at) = activity.idle_deadline(time) else { return };
        if at <= Instant::now() {
            break;
        }
        tokio::time::sleep_until(at).await;
    }
    tracing::debug!(session = &*id, "the session ends: it is idle");
    let Some(table) = table.upgrade() else { return };
    if let Err(error) = table.local.close_session(&id).await {
        tracing::warn!(session = &*id, %error, "the idle session cannot be ended");
    }
    // Aborts this task.
    table.remove(&id);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use axum::body::Body;
    use http::{Request, Response};
    use http_body_util::{BodyExt as _, combinators::BoxBody};
    use serde_json::{Value, json};
    use tool_runtime::Registry;
    use tower_service::Service as _;

    use crate::server::{HttpConfig, HttpServer, McpServer, ResourceSet};

    const READY: usize = 2;

    type Answer = BoxBody<bytes::Bytes, std::convert::Infallible>;

    struct Client {
        server: HttpServer,
        session: Option<String>,
    }

    impl Client {
        async fn send(&mut self, method: &str, message: Value) -> Response<Answer> {
            let mut request = Request::builder()
                .method(method)
                .uri("/")
                .header("host", "localhost")
                .header("accept", "application/json, text/event-stream")
                .header("content-type", "application/json")
                .header("mcp-protocol-version", "2025-11-25");
            if let Some(session) = &self.session {
                request = request.header("mcp-session-id", session);
            }
            self.server.call(request.body(Body::from(message.to_string())).unwrap()).await.unwrap()
        }

        async fn request(&mut self, method: &str, params: Value) -> String {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let answer = self.send("POST", message).await;
            let session = answer.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
            self.session = self.session.take().or(session);
            String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
        }

        async fn open(server: &HttpServer) -> Self {
            let mut it = Self { server: server.clone(), session: None };
            it.request(
                "initialize",
                json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" } }),
            )
            .await;
            it.send("POST", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
            it
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_rests_ends_when_it_is_idle() {
        let idle_time = std::time::Duration::from_secs(100);
        let config = HttpConfig::new().max_ready_sessions(0).idle_time(idle_time);
        let server = McpServer::new(Registry::builder().build().unwrap()).http_with(config).unwrap();
        let mut client = Client::open(&server).await;
        tokio::time::sleep(idle_time / 2).await;
        client.request("ping", json!({})).await;
        tokio::time::sleep(idle_time * 3 / 4).await;
        assert_eq!((server.sessions(), server.0.sessions.table.ready_session_count()), (1, 0));
        tokio::time::sleep(idle_time / 2).await;
        assert_eq!(server.sessions(), 0);
    }

    #[tokio::test]
    async fn sessions_rest_beyond_a_number_and_keep_what_their_client_set() {
        let resources = ResourceSet::new().text("a:a", "a", "text");
        let tools = Registry::builder().build().unwrap();
        let config = HttpConfig::new().max_ready_sessions(READY);
        let server = McpServer::new(tools).resources(resources.clone()).http_with(config).unwrap();
        let table = &server.0.sessions.table;
        let mut clients = Vec::new();
        for opened in 1..=10 {
            let mut client = Client::open(&server).await;
            let answer = client.request("resources/subscribe", json!({ "uri": "a:a" })).await;
            assert!(answer.contains("result"), "{answer}");
            clients.push(client);
            assert_eq!((table.len(), table.ready_session_count()), (opened, READY.min(opened)));
        }
        // A request that is refused sets its session up, too.
        for client in &mut clients {
            let refused = client.send("POST", json!({ "jsonrpc": "2.0", "id": 1, "method": 5 })).await;
            assert_eq!(refused.status(), 400);
            assert_eq!(table.ready_session_count(), READY);
        }
        resources.updated("a:a");
        for mut client in clients {
            let answer = client.request("resources/list", json!({})).await;
            assert!(answer.contains("a:a"), "{answer}");
            // A change while the session rested reaches the next stream.
            let mut stream = client.send("GET", Value::Null).await.into_body();
            let mut events = String::new();
            while !events.contains("notifications/resources/updated") {
                let frame = stream.frame().await.unwrap().unwrap();
                events += &String::from_utf8_lossy(&frame.into_data().unwrap());
            }
            assert!(table.ready_session_count() <= READY + 1);
            drop(stream);
            assert!(table.ready_session_count() <= READY);
            let open = table.len();
            assert_eq!(client.send("DELETE", Value::Null).await.status(), 204);
            assert_eq!(table.len(), open - 1);
            assert_eq!(client.send("GET", Value::Null).await.status(), 404);
        }
        assert_eq!((table.len(), table.ready_session_count()), (0, 0));
    }
}
