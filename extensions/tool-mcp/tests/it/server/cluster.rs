//! Two servers at one address, as behind a load balancer: each request comes to another.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex},
};

use rmcp::transport::streamable_http_server::session::{
    EventStore, EventStoreError, EventStream, ServerSseMessage, SessionState, SessionStore, SessionStoreError,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tool_mcp::server::{HttpConfig, HttpServer, McpServer};
use tool_runtime::prelude::*;

use super::{BOTH, Served, initialize, modern, serve, sse};

type Stored<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// The stores of both servers.
#[derive(Default)]
struct Store {
    sessions: Mutex<HashMap<String, SessionState>>,
    events: Mutex<Vec<(String, ServerSseMessage)>>,
    stored: Notify,
}

impl SessionStore for Store {
    fn load<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, Option<SessionState>, SessionStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move { Ok(self.sessions.lock().unwrap().get(id).cloned()) })
    }

    fn store<'a, 'b, 'd, 'c>(
        &'a self,
        id: &'b str,
        state: &'d SessionState,
    ) -> Stored<'c, (), SessionStoreError>
    where
        'a: 'c,
        'b: 'c,
        'd: 'c,
    {
        Box::pin(async move {
            self.sessions.lock().unwrap().insert(id.to_owned(), state.clone());
            Ok(())
        })
    }

    fn delete<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, (), SessionStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move {
            self.sessions.lock().unwrap().remove(id);
            Ok(())
        })
    }
}

impl EventStore for Store {
    fn store_event<'a, 'b, 'd, 'c>(
        &'a self,
        stream: &'b str,
        event: &'d ServerSseMessage,
    ) -> Stored<'c, String, EventStoreError>
    where
        'a: 'c,
        'b: 'c,
        'd: 'c,
    {
        Box::pin(async move {
            let mut events = self.events.lock().unwrap();
            let id = events.len().to_string();
            let mut event = event.clone();
            event.event_id = Some(id.clone());
            events.push((stream.to_owned(), event));
            self.stored.notify_one();
            Ok(id)
        })
    }

    fn replay_events_after<'a, 'b, 'c>(&'a self, last: &'b str) -> Stored<'c, EventStream, EventStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move {
            let last: usize = last.parse()?;
            let events = self.events.lock().unwrap();
            let stream = &events[last].0;
            let later: Vec<_> =
                events[last + 1..].iter().filter(|it| it.0 == *stream).map(|it| it.1.clone()).collect();
            Ok(Box::pin(Events(later.into())) as EventStream)
        })
    }
}

/// Events that are known.
struct Events(std::collections::VecDeque<ServerSseMessage>);

impl futures_core::Stream for Events {
    type Item = ServerSseMessage;

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<ServerSseMessage>> {
        std::task::Poll::Ready(self.0.pop_front())
    }
}

#[derive(Default)]
struct Gate {
    started: Notify,
    go: Notify,
}

/// Waits.
#[tool(register = false)]
async fn wait(gate: &Gate) -> &'static str {
    gate.started.notify_one();
    gate.go.notified().await;
    "done"
}

/// Adds two numbers.
#[tool(register = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn server(gate: &Arc<Gate>, config: HttpConfig) -> HttpServer {
    let tools = Registry::builder().tool::<wait>().tool::<add>().provide_shared(Arc::clone(gate)).build();
    McpServer::new(tools.unwrap()).key([1; 32]).http_with(config).unwrap()
}

async fn two(config: HttpConfig) -> ([Served; 2], Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let first = serve(server(&gate, config.clone())).await;
    ([first, serve(server(&gate, config)).await], gate)
}

async fn open(served: &Served) -> String {
    let [version, _] = BOTH;
    let opened = served.post(&initialize(), &version).send().await.unwrap();
    let id = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    opened.text().await.unwrap();
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    served.post(&initialized, &version).header("mcp-session-id", &id).send().await.unwrap();
    id
}

fn call(tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params })
}

#[tokio::test]
async fn requests_without_sessions_work_at_any_process() {
    let (served, _) = two(HttpConfig::new()).await;
    let [_, version] = BOTH;
    for at in 0..10 {
        let call = modern("tools/call", json!({ "name": "add", "arguments": { "a": at, "b": 1 } }));
        let answer = served[at % 2].post(&call, &version).send().await.unwrap();
        let answer = sse(&answer.text().await.unwrap());
        assert_eq!(answer["result"]["content"][0]["text"], (at + 1).to_string(), "{answer}");
    }
}

#[tokio::test]
async fn a_session_goes_on_at_another_process() {
    let store = Arc::new(Store::default());
    let (served, _) = two(HttpConfig::new().session_store(store.clone())).await;
    let [version, _] = BOTH;
    let id = open(&served[0]).await;
    for at in 0..6 {
        let call = call("add", json!({ "a": at, "b": 1 }));
        let answer = served[at % 2].post(&call, &version).header("mcp-session-id", &id).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let answer = sse(&answer.text().await.unwrap());
        assert_eq!(answer["result"]["content"][0]["text"], (at + 1).to_string(), "{answer}");
    }
    let delete = reqwest::Client::new().delete(&served[1].url).header("mcp-session-id", &id);
    assert_eq!(delete.send().await.unwrap().status(), 204);
    assert!(store.sessions.lock().unwrap().is_empty());
    // Without a store, another process does not know the session.
    let (served, _) = two(HttpConfig::new()).await;
    let id = open(&served[0]).await;
    let request = served[1].post(&call("add", json!({ "a": 1, "b": 1 })), &version);
    assert_eq!(request.header("mcp-session-id", id).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn a_lost_stream_resumes_at_another_process() {
    let store = Arc::new(Store::default());
    let config = HttpConfig::new().session_store(store.clone()).event_store(store.clone());
    let (served, gate) = two(config).await;
    let [version, _] = BOTH;
    let id = open(&served[0]).await;
    let before = store.events.lock().unwrap().len();
    let request = served[0].post(&call("wait", json!({})), &version).header("mcp-session-id", &id);
    let mut answer = request.send().await.unwrap();
    let last = loop {
        let chunk = String::from_utf8(answer.chunk().await.unwrap().unwrap().to_vec()).unwrap();
        if let Some(id) = chunk.lines().find_map(|line| line.strip_prefix("id:")) {
            break id.trim().to_owned();
        }
    };
    gate.started.notified().await;
    drop(answer);
    gate.go.notify_one();
    while store.events.lock().unwrap().len() < before + 2 {
        store.stored.notified().await;
    }
    let resume = async |session: &str, last: &str| {
        let resumed = reqwest::Client::new()
            .get(&served[1].url)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", session)
            .header("mcp-protocol-version", version.as_str())
            .header("last-event-id", last);
        resumed.send().await.unwrap()
    };
    // Another session does not read the events of this one.
    let other = open(&served[1]).await;
    for (session, last) in
        [(&other, last.as_str()), (&other, &before.to_string()), (&id, &before.to_string())]
    {
        assert_eq!(resume(session, last).await.text().await.unwrap(), "", "{last}");
    }
    let answer = sse(&resume(&id, &last).await.text().await.unwrap());
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
}
