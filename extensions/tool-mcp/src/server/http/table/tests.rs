//! Sessions that rest, and those that another process opened.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::HashMap,
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context, Waker},
};

use axum::body::Body;
use http::{Request, Response};
use http_body_util::{BodyExt as _, combinators::BoxBody};
use rmcp::transport::streamable_http_server::session::{
    SessionManager as _, SessionState, SessionStore, SessionStoreError,
};
use serde_json::{Value, json};
use tool_runtime::Registry;
use tower_service::Service as _;

use super::{
    Duration, LocalSessionManager, MAX_CANDIDATES, NewSession, ReadySession, SessionId, SessionTable,
};
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

#[cfg(feature = "postgres")]
#[tokio::test]
async fn a_session_that_another_process_ended_is_forgotten() {
    let server = McpServer::new(Registry::builder().build().unwrap()).http().unwrap();
    let table = &server.0.sessions.table;
    let (ended, mut other) = (Client::open(&server).await, Client::open(&server).await);
    let id = ended.session.unwrap();
    table.forget_ended_session(&id).await;
    assert!(table.state(&id).is_none());
    assert_eq!((table.len(), table.ready_session_count()), (1, 1));
    let answer = other.request("ping", json!({})).await;
    assert!(answer.contains("result"), "{answer}");
}

/// A store of sessions, which takes a moment.
#[derive(Default)]
struct SlowStore(Mutex<HashMap<String, SessionState>>);

type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

impl SessionStore for SlowStore {
    fn load<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, Option<SessionState>>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(self.0.lock().unwrap().get(id).cloned())
        })
    }

    fn store<'a, 'b, 'd, 'c>(&'a self, id: &'b str, state: &'d SessionState) -> Stored<'c, ()>
    where
        'a: 'c,
        'b: 'c,
        'd: 'c,
    {
        self.0.lock().unwrap().insert(id.to_owned(), state.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn delete<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, ()>
    where
        'a: 'c,
        'b: 'c,
    {
        self.0.lock().unwrap().remove(id);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A client whose session is not set up at the server to which it sends next: it rests there, or another process opened it.
async fn client_of_session_to_set_up(is_of_other_process: bool) -> Client {
    let store = Arc::new(SlowStore::default());
    let server = || {
        let config = match is_of_other_process {
            true => HttpConfig::new().session_store(store.clone()),
            false => HttpConfig::new().max_ready_sessions(0),
        };
        McpServer::new(Registry::builder().build().unwrap()).key([7; 32]).http_with(config).unwrap()
    };
    let mut client = Client::open(&server()).await;
    if is_of_other_process {
        client.server = server();
    }
    assert_eq!(client.server.0.sessions.table.ready_session_count(), 0);
    client
}

#[tokio::test]
async fn requests_that_come_at_once_to_a_session_that_is_not_set_up_are_all_answered() {
    for is_of_other_process in [false, true] {
        let client = client_of_session_to_set_up(is_of_other_process).await;
        let requests = (0..20).map(|id| {
            let mut client = Client { server: client.server.clone(), session: client.session.clone() };
            async move {
                let message = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
                client.send("POST", message).await.status()
            }
        });
        for status in futures_util::future::join_all(requests).await {
            assert_eq!(status, 200, "of another process: {is_of_other_process}");
        }
    }
}

#[tokio::test]
async fn a_session_whose_client_leaves_while_it_is_set_up_is_whole_for_the_next_request() {
    for is_of_other_process in [false, true] {
        for polls in 0..200 {
            let mut client = client_of_session_to_set_up(is_of_other_process).await;
            let mut leaving = Client { server: client.server.clone(), session: client.session.clone() };
            let mut is_answered = false;
            {
                let mut leaving = pin!(leaving.request("ping", json!({})));
                for _ in 0..polls {
                    let mut context = Context::from_waker(Waker::noop());
                    is_answered = leaving.as_mut().poll(&mut context).is_ready();
                    if is_answered {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            }
            // With an id of its own.
            let answer = client.send("POST", json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })).await;
            assert_eq!(answer.status(), 200, "{polls}, of another process: {is_of_other_process}");
            let answer = answer.into_body().collect().await.unwrap().to_bytes();
            assert!(String::from_utf8_lossy(&answer).contains("result"), "{answer:?}");
            // Its handler was told that the client is initialized: from then on it notes changes.
            let state = client.server.0.sessions.table.state(client.session.as_deref().unwrap()).unwrap();
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            // Locked, they are being sent.
            let notes_changes = state.signals.try_lock().map_or(true, |signals| signals.is_some());
            assert!(notes_changes, "{polls}, of another process: {is_of_other_process}");
            if is_answered {
                assert!(polls > 3, "the client left never while the session was set up");
                break;
            }
            assert!(polls < 199, "the request was never answered");
        }
    }
}

/// Opens the session `id` in `table`, and sets it up. It can rest if it has the parameters of its `initialize`.
fn set_up_session(table: &Arc<SessionTable>, id: &SessionId, initialize: Option<&str>) -> ReadySession {
    let server = McpServer::new(Registry::default()).http().unwrap();
    let state = Arc::new(crate::server::session_state::SessionState::new(&server.0.shared));
    let new = NewSession { identity: None, state, initialize: initialize.map(Into::into) };
    table.open_session::<()>(id, new, Duration::MAX, |_| None).unwrap();
    table.set_up_session(id).unwrap()
}

fn new_table(max_ready: usize) -> Arc<SessionTable> {
    SessionTable::new(LocalSessionManager::default(), max_ready)
}

#[tokio::test]
async fn a_session_rests_unless_it_is_used_or_cannot_be_set_up_again() {
    let table = new_table(0);
    let (id, _transport) = table.local.create_session().await.unwrap();
    let session = set_up_session(&table, &id, None);
    let is_ready_after_rest = || {
        table.rest_unused_sessions();
        (table.is_ready(&id), table.ready_session_count())
    };
    assert_eq!(is_ready_after_rest(), (true, 1), "it has not begun");
    table.set_initialize_params(&id, "{}".into());
    assert!(table.resting_session(&id).is_none());
    let stream = session.activity.open_stream();
    assert_eq!(is_ready_after_rest(), (true, 1), "it has a stream");
    drop(stream);
    let sessions = table.local.sessions.read().await;
    assert_eq!(is_ready_after_rest(), (true, 1), "another task looks at the sessions");
    drop(sessions);
    assert!(table.local.has_session(&id).await.unwrap());
    assert_eq!(is_ready_after_rest(), (false, 0));
    assert!(!table.local.has_session(&id).await.unwrap());
    let resting = table.resting_session(&id).unwrap();
    assert_eq!((&resting.id, &*resting.initialize), (&id, "{}"));
    // Its end is the end of its present life alone.
    let ready = table.set_up_session(&id).unwrap();
    drop(session);
    assert!(table.is_ready(&id));
    drop(ready);
    assert_eq!((table.len(), table.ready_session_count()), (0, 0));
}

#[tokio::test]
async fn the_session_that_is_ready_for_the_longest_time_rests_first() {
    let table = new_table(1);
    let ids = ["a", "b", "c"].map(SessionId::from);
    let _sessions = ids.each_ref().map(|id| set_up_session(&table, id, Some("{}")));
    table.rest_unused_sessions();
    assert_eq!(ids.each_ref().map(|id| table.is_ready(id)), [false, false, true]);
}

#[tokio::test]
async fn a_bounded_number_of_sessions_is_looked_at_for_one_that_may_rest() {
    let table = new_table(0);
    let mut sessions = Vec::new();
    for number in 0..=MAX_CANDIDATES {
        sessions.push(set_up_session(&table, &number.to_string().into(), Some("{}")));
    }
    let streams: Vec<_> = sessions[..MAX_CANDIDATES].iter().map(|it| it.activity.open_stream()).collect();
    for ready in [MAX_CANDIDATES + 1, MAX_CANDIDATES] {
        table.rest_unused_sessions();
        assert_eq!(table.ready_session_count(), ready);
    }
    drop(streams);
    table.rest_unused_sessions();
    assert_eq!(table.ready_session_count(), 0);
}
