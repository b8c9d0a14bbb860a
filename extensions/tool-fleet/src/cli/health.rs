//! The health of a worker over HTTP, for supervisors: `GET /healthz` and `GET /readyz`.

use std::{convert::Infallible, future::ready, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};
use tool_cli::{Exit, Failure};

use crate::{Transport, WorkerState};

/// The connections at once; further ones wait.
const MAX_CONNECTIONS: usize = 32;

/// The time of a connection, from its first byte to its last one.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum size of the head of a request.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// The pause after a connection could not be accepted, such as without free files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The parts of a worker that its health depends on.
#[derive(Clone)]
pub(super) struct WorkerHealth {
    pub(super) state: watch::Receiver<WorkerState>,
    pub(super) transport: Arc<dyn Transport>,
}

impl WorkerHealth {
    /// Returns why the worker takes no calls.
    fn unready_reason(&self) -> Option<&'static str> {
        match *self.state.borrow() {
            WorkerState::Serving if self.transport.is_connected() => None,
            WorkerState::Serving => Some("the connection to the broker is lost"),
            WorkerState::Starting => Some("the worker is starting"),
            WorkerState::Draining => Some("the worker is draining"),
            WorkerState::Ended => Some("the worker has ended"),
        }
    }

    fn response(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        let (status, text) = match path {
            "/healthz" | "/readyz" if method != Method::GET && method != Method::HEAD => {
                (StatusCode::METHOD_NOT_ALLOWED, "expected GET")
            }
            "/healthz" => (StatusCode::OK, "ok"),
            "/readyz" => self
                .unready_reason()
                .map_or((StatusCode::OK, "ok"), |it| (StatusCode::SERVICE_UNAVAILABLE, it)),
            _ => (StatusCode::NOT_FOUND, "expected /healthz or /readyz"),
        };
        let mut response = Response::new(Full::from(format!("{text}\n")));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}

/// Listens at an address. Needs a `tokio` runtime.
pub(super) async fn listen_for_health(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let failed =
        |error| Failure::quoting(Exit::Failed, format!("`--health`: {address} cannot be served: {error}"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    Ok((listener, local))
}

/// Answers requests until it is dropped. Bounded in connections, time and bytes, since it is asked without authentication.
pub(super) async fn serve_health(listener: TcpListener, health: WorkerHealth) -> Infallible {
    let health = Arc::new(health);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => drop(connections.spawn(answer_connection(stream, Arc::clone(&health)))),
                Err(error) => {
                    tracing::warn!(%error, "a request about the health of a worker was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Answers one request.
async fn answer_connection(stream: TcpStream, health: Arc<WorkerHealth>) {
    let service = service_fn(|request: Request<hyper::body::Incoming>| {
        ready(Ok::<_, Infallible>(health.response(request.method(), request.uri().path())))
    });
    let mut http = http1::Builder::new();
    http.keep_alive(false).max_buf_size(MAX_HEAD_BYTES);
    let serving = http.serve_connection(TokioIo::new(stream), service);
    // A client that sends too much, too slowly, or leaves has no answer.
    if let Ok(Err(error)) = tokio::time::timeout(CONNECTION_TIMEOUT, serving).await {
        tracing::debug!(%error, "a request about the health of a worker was not answered");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tool_runtime::BoxFuture;

    use super::*;
    use crate::{Deliveries, FleetError, MemoryTransport};

    /// A transport whose connection a test ends.
    struct LostTransport(MemoryTransport, Arc<AtomicBool>);

    impl Transport for LostTransport {
        fn send<'a>(
            &'a self,
            subject: &'a str,
            reply: Option<&'a str>,
            body: Bytes,
        ) -> BoxFuture<'a, Result<(), FleetError>> {
            self.0.send(subject, reply, body)
        }

        fn listen<'a>(
            &'a self,
            pattern: &'a str,
            group: Option<&'a str>,
        ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
            self.0.listen(pattern, group)
        }

        fn max_bytes(&self) -> usize {
            self.0.max_bytes()
        }

        fn is_connected(&self) -> bool {
            !self.1.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn a_worker_is_ready_while_it_serves_and_its_connection_stands() {
        let (state, receiver) = watch::channel(WorkerState::Starting);
        let is_lost = Arc::new(AtomicBool::new(false));
        let transport = LostTransport(MemoryTransport::new(), Arc::clone(&is_lost));
        let health = WorkerHealth { state: receiver, transport: Arc::new(transport) };
        let status = |path: &str| health.response(&Method::GET, path).status().as_u16();
        assert_eq!((status("/healthz"), status("/readyz")), (200, 503));
        state.send_replace(WorkerState::Serving);
        assert_eq!((status("/healthz"), status("/readyz")), (200, 200));
        is_lost.store(true, Ordering::Relaxed);
        assert_eq!((status("/healthz"), status("/readyz")), (200, 503));
        is_lost.store(false, Ordering::Relaxed);
        for over in [WorkerState::Draining, WorkerState::Ended] {
            state.send_replace(over);
            assert_eq!((status("/healthz"), status("/readyz")), (200, 503));
        }
        assert_eq!(status("/"), 404);
        let refused = health.response(&Method::POST, "/healthz");
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()[ALLOW]),
            (405, &"GET, HEAD".parse().unwrap())
        );
    }

    #[tokio::test]
    async fn an_answer_says_why_a_worker_takes_no_calls() {
        use http_body_util::BodyExt as _;

        let (state, receiver) = watch::channel(WorkerState::Starting);
        let is_lost = Arc::new(AtomicBool::new(false));
        let transport = LostTransport(MemoryTransport::new(), Arc::clone(&is_lost));
        let health = WorkerHealth { state: receiver, transport: Arc::new(transport) };
        let answer = async |method: &Method, path: &str| {
            let (head, body) = health.response(method, path).into_parts();
            assert_eq!(head.headers[CONTENT_TYPE], "text/plain; charset=utf-8");
            assert_eq!(head.headers.contains_key(ALLOW), head.status.as_u16() == 405);
            let body = body.collect().await.unwrap().to_bytes();
            (head.status.as_u16(), String::from_utf8(body.to_vec()).unwrap())
        };
        let expect = |status: u16, text: &str| (status, format!("{text}\n"));
        for (over, reason) in [
            (WorkerState::Starting, "the worker is starting"),
            (WorkerState::Draining, "the worker is draining"),
            (WorkerState::Ended, "the worker has ended"),
        ] {
            state.send_replace(over);
            assert_eq!(answer(&Method::GET, "/readyz").await, expect(503, reason));
            assert_eq!(answer(&Method::HEAD, "/healthz").await, expect(200, "ok"));
        }
        state.send_replace(WorkerState::Serving);
        assert_eq!(answer(&Method::HEAD, "/readyz").await, expect(200, "ok"));
        is_lost.store(true, Ordering::Relaxed);
        assert_eq!(
            answer(&Method::GET, "/readyz").await,
            expect(503, "the connection to the broker is lost")
        );
        assert_eq!(answer(&Method::PUT, "/readyz").await, expect(405, "expected GET"));
        assert_eq!(answer(&Method::PUT, "/other").await, expect(404, "expected /healthz or /readyz"));
    }

    #[tokio::test]
    async fn requests_are_answered_beside_as_many_silent_connections_as_there_may_be() {
        let (_state, receiver) = watch::channel(WorkerState::Serving);
        let health = WorkerHealth { state: receiver, transport: Arc::new(MemoryTransport::new()) };
        let (listener, address) = listen_for_health(([127, 0, 0, 1], 0).into()).await.unwrap();
        let asking = async {
            let connect = || async { TcpStream::connect(address).await.unwrap() };
            let mut silent = Vec::new();
            for _ in 1..MAX_CONNECTIONS {
                silent.push(connect().await);
            }
            // Too large a head has no end that a server waits for.
            let mut large = connect().await;
            let head = format!("GET /readyz HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(2 * MAX_HEAD_BYTES));
            let _ = large.write_all(head.as_bytes()).await;
            let mut answer = Vec::new();
            let _ = large.read_to_end(&mut answer).await;
            assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
            let mut stream = connect().await;
            stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("\r\n\r\nok\n"), "{answer}");
        };
        tokio::select! {
            () = asking => {}
            never = serve_health(listener, health) => match never {},
        }
    }
}
