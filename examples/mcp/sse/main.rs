//! A server over any transport of the program: here HTTP with server-sent events, which revision 2024-11-05 of the protocol has.
//!
//! ```sh
//! cargo run --bin mcp-sse -- 127.0.0.1:3001
//! cargo run --bin mcp-command -- mcp call http://127.0.0.1:3001/sse double '{"n": 4}'
//! ```
//!
//! A client receives the server's messages as events of one stream, whose first event is the address of its own requests. A server
//! over streamable HTTP, as `mcp-http`, serves newer clients.

use std::{
    collections::HashMap,
    convert::Infallible,
    env,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::IntoResponse,
    routing::{get, post},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf},
    net::TcpListener,
    sync::Mutex,
};
use tool_mcp::server::McpServer;
use tool_runtime::{CancellationToken, prelude::*};

/// Doubles a number.
#[tool(read_only)]
fn double(n: i64) -> i64 {
    2 * n
}

/// The bytes between the server and a client that wait to be read.
const PIPE_BYTES: usize = 64 * 1024;

type Requests = Arc<Mutex<HashMap<String, Arc<Mutex<WriteHalf<DuplexStream>>>>>>;

#[derive(Clone)]
struct Sessions {
    server: McpServer,
    /// The streams of requests, by session.
    requests: Requests,
    opened: Arc<AtomicU64>,
}

/// The messages of the server in one session, which ends with them.
struct Events {
    session: String,
    messages: Lines<BufReader<ReadHalf<DuplexStream>>>,
    stop: CancellationToken,
    requests: Requests,
}

impl Drop for Events {
    fn drop(&mut self) {
        self.stop.cancel();
        let (requests, session) = (Arc::clone(&self.requests), std::mem::take(&mut self.session));
        tokio::spawn(async move { requests.lock().await.remove(&session) });
    }
}

/// Opens a session.
async fn open_stream(State(sessions): State<Sessions>) -> impl IntoResponse {
    // A server that others reach takes ids that cannot be guessed.
    let session = sessions.opened.fetch_add(1, Ordering::Relaxed).to_string();
    let (near, far) = tokio::io::duplex(PIPE_BYTES);
    let (read, write) = tokio::io::split(far);
    let stop = CancellationToken::new();
    tokio::spawn(sessions.server.serve(read, write, stop.clone()));
    let (messages, requests) = tokio::io::split(near);
    sessions.requests.lock().await.insert(session.clone(), Arc::new(Mutex::new(requests)));

    let first = format!("event: endpoint\ndata: /messages/{session}\n\n");
    let messages = BufReader::new(messages).lines();
    let events = Events { session, messages, stop, requests: sessions.requests };
    let body = futures_util::stream::unfold((Some(first), events), async |(first, mut events)| {
        let event = match first {
            Some(first) => first,
            None => format!("event: message\ndata: {}\n\n", events.messages.next_line().await.ok()??),
        };
        Some((Ok::<_, Infallible>(event), (None, events)))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(body))
}

/// Passes a message of a client to the server of its session.
async fn send_message(
    State(sessions): State<Sessions>,
    Path(session): Path<String>,
    headers: HeaderMap,
    message: Bytes,
) -> StatusCode {
    // A web page must not reach a server on the user's machine.
    if headers.contains_key(header::ORIGIN) {
        return StatusCode::FORBIDDEN;
    }
    let stream = sessions.requests.lock().await.get(&session).cloned();
    let Some(stream) = stream else { return StatusCode::NOT_FOUND };
    let line: Vec<u8> = message.iter().copied().filter(|byte| *byte != b'\n').chain([b'\n']).collect();
    match stream.lock().await.write_all(&line).await {
        Ok(()) => StatusCode::ACCEPTED,
        Err(_) => StatusCode::GONE,
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3001".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("http://{}/sse", listener.local_addr()?);
    let server = McpServer::new(Registry::discover()?);
    let sessions = Sessions { server, requests: Requests::default(), opened: Arc::default() };
    let router = Router::new()
        .route("/sse", get(open_stream))
        .route("/messages/{session}", post(send_message))
        .with_state(sessions);
    axum::serve(listener, router).await?;
    Ok(())
}
