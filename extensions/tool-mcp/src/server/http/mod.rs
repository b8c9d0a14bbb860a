//! Serving streamable HTTP.

mod activity;
mod answer_body;
mod auth;
mod body;
#[cfg(feature = "postgres")]
mod cluster;
mod config;
mod connections;
mod create;
mod current_request;
mod logs;
mod names;
mod received_bodies;
mod refusal;
mod request_facts;
mod resting;
mod session_error;
mod sessions;
mod streams;
mod table;

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::SystemTime,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body::Body;
use http_body_util::{BodyExt, combinators::BoxBody};
use rmcp::{ErrorData, model::ProtocolVersion, transport::streamable_http_server::StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::task::{AbortOnDropHandle, task_tracker::TaskTracker};
use tool_runtime::{CancellationToken, diagnostic::Diagnostic};
use tower_service::Service;

#[cfg(feature = "postgres")]
pub use self::cluster::{Cluster, ClusterError, ClusterOptions};
#[cfg(feature = "postgres")]
pub(super) use self::cluster::{ClusterLink, CountedCall, CountedCaller, NewTask};
pub(super) use self::request_facts::HttpRequestFacts;
use self::{
    answer_body::{AnswerBody, Settling},
    body::{ArgumentStrippingBody, BodyLimits},
    connections::{ConnectionTimes, serve_connections},
    current_request::{CurrentRequest, REQUEST},
    names::AcceptedNames,
    received_bodies::ReceivedBodies,
    refusal::{RequestRefusal, text_response, unavailable_response},
    sessions::HttpSessions,
};
pub use self::{
    auth::{Identity, ResourceServer, TokenError, TokenValidator},
    config::HttpConfig,
    request_facts::RequestHeaders,
};
#[cfg(doc)]
use super::McpServer;
use super::{ServeError, handler::RequestHandler, requests::RefusedMessage, server_state::ServerState};

/// The path at which [`HttpServer::serve`] serves.
const PATH: &str = "/mcp";

/// A server over streamable HTTP: a `tower` service, to be mounted in a program's own router, or [served](Self::serve).
///
/// All revisions are served at one URL: those with sessions, and 2026-07-28, where each request stands alone.
///
/// Clones serve the same sessions.
///
/// # Examples
///
/// ```no_run
/// use axum::serve::ListenerExt as _;
/// use tool_mcp::server::McpServer;
/// use tool_runtime::prelude::*;
///
/// # async fn example() -> anyhow::Result<()> {
/// let server = McpServer::new(Registry::discover()?).http()?;
/// let router = axum::Router::new().nest_service("/mcp", server.clone());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:3001").await?;
/// // Without delays of small packets, the end of a stream of events is sent at once.
/// let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
/// let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
///     tokio::signal::ctrl_c().await.ok();
///     server.shutdown().await;
/// });
/// serving.await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpServer(Arc<HttpServerState>);

/// Shared, so that the clone of each request is cheap.
struct HttpServerState {
    service: StreamableHttpService<RequestHandler, HttpSessions>,
    sessions: Arc<HttpSessions>,
    shared: Arc<ServerState>,
    config: HttpConfig,
    names: AcceptedNames,
    bodies: Arc<ReceivedBodies>,
    max_request: usize,
    /// The requests that are not answered yet.
    open: TaskTracker,
    #[cfg(feature = "postgres")]
    _cluster_tasks: Option<cluster::ServingTasks>,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("config", &self.0.config).finish_non_exhaustive()
    }
}

impl HttpServer {
    /// Serves `listener` under the path `/mcp` until `stop` is cancelled; then [shuts down](Self::shutdown).
    ///
    /// # Errors
    ///
    /// If the listener fails.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) -> Result<(), ServeError> {
        let (router, config) = (self.router(), &self.0.config);
        let times = ConnectionTimes {
            head: config.head_time.min(ConnectionTimes::MAX),
            keep_alive: config.keep_alive_time.min(ConnectionTimes::MAX),
            shutdown: self.0.shared.shutdown_time,
        };
        let serving = serve_connections(listener, router, times, async move {
            stop.cancelled().await;
            self.shutdown().await;
        });
        // A task of its own: the thread of a program's `main` would be woken for each connection.
        #[expect(
            clippy::disallowed_methods,
            reason = "it is awaited below, and aborted if this future is dropped"
        )]
        let serving = AbortOnDropHandle::new(tokio::spawn(serving));
        serving.await.map_err(|error| ServeError::Listener(error.into()))
    }

    /// Returns the routes of the server: `/mcp`, and the metadata of its [protection](HttpConfig::protect).
    pub fn router(&self) -> axum::Router {
        let mut router = axum::Router::new().route_service(PATH, self.clone());
        if let Some(protection) = &self.0.config.protection {
            let metadata = protection.metadata().to_string();
            for path in protection.metadata_paths() {
                let metadata = metadata.clone();
                let answer = async move || ([(header::CONTENT_TYPE, "application/json")], metadata);
                router = router.route(&path, axum::routing::get(answer));
            }
        }
        router
    }

    /// Ends the server: new requests are refused with status 503, and those that run are answered, for up to
    /// [`McpServer::shutdown_time`]. Then all sessions end.
    pub async fn shutdown(&self) {
        self.0.shared.stopping.cancel();
        self.0.open.close();
        if tokio::time::timeout(self.0.shared.shutdown_time, self.0.open.wait()).await.is_err() {
            tracing::warn!("the server ends before all its calls do");
        }
        self.0.service.config.cancellation_token.cancel();
        let table = &self.0.sessions.table;
        table.remove_all();
        table.tasks.close();
        if tokio::time::timeout(self.0.shared.shutdown_time, table.tasks.wait()).await.is_err() {
            tracing::warn!("the server ends before all its sessions do");
        }
    }

    /// Returns the diagnostics of the tools: those that every run has, and those of the runs of the last minute, as
    /// [`McpServer::on_diagnostic`] receives them.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.0.shared.tools.diagnostics.list()
    }

    /// Returns the number of sessions that are open.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.0.sessions.table.len()
    }

    /// Validates the head of a request, and returns the identity of its caller.
    ///
    /// # Errors
    ///
    /// The answer to a request that is refused.
    async fn admit_request(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Option<Arc<Identity>>, HttpAnswer> {
        if self.0.shared.stopping.is_cancelled() {
            return Err(unavailable_response("the server ends".to_owned()));
        }
        if let Err((status, reason)) = self.0.names.validate_host_and_origin(uri, headers) {
            tracing::warn!(reason, "a request is refused");
            return Err(text_response(status, reason));
        }
        let Some(protection) = &self.0.config.protection else { return Ok(None) };
        protection.identify_caller(headers).await.map(|identity| Some(Arc::new(identity)))
    }

    /// Answers one request.
    async fn answer_request<B>(self, mut request: Request<B>) -> HttpAnswer
    where
        B: Body + Send + 'static,
        B::Error: fmt::Display,
        B::Data: Send,
    {
        let identity = match self.admit_request(request.uri(), request.headers()).await {
            Ok(identity) => identity,
            Err(refused) => return refused,
        };
        mark_secret_headers(request.headers_mut());
        let version = request.headers().get("mcp-protocol-version").map(HeaderValue::as_bytes);
        if version >= Some(ProtocolVersion::V_2026_07_28.as_str().as_bytes()) {
            // There are no sessions any more.
            request.headers_mut().remove("mcp-session-id");
        }
        let headers = request.headers();
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let session = header("mcp-session-id").map(str::to_owned);
        if let (Some(session), Some(identity)) = (&session, &identity)
            && !self.0.sessions.belongs_to(session, identity)
        {
            return text_response(StatusCode::NOT_FOUND, "there is no such session");
        }
        #[cfg(feature = "postgres")]
        if let Some(cluster) = &self.0.config.cluster
            && let Err(refused) = self.admit_to_cluster(cluster, session.as_deref()).await
        {
            return refused;
        }
        // Other streams end with the call that they answer.
        let (is_get, is_end) = (request.method() == Method::GET, request.method() == Method::DELETE);
        let listens = header("mcp-method") == Some("subscriptions/listen");
        let is_unwatched = session.is_none() && !is_get && self.0.config.event_store.is_some();
        let departure = is_unwatched.then(CancellationToken::new);
        let _departing = departure.clone().map(CancellationToken::drop_guard);
        let expires = identity.as_ref().and_then(|identity| identity.expires).filter(|_| is_get || listens);
        // A stream of events has no end of its own; all others are answered before the server ends.
        let open = (!is_get).then(|| self.0.open.token());
        // Dropped last: a session does not rest while it has a request.
        let settling = Settling(Arc::clone(&self.0.sessions.table));
        let current = Arc::new(CurrentRequest::new(identity));
        if let Some(session) = &session {
            let stop = &self.0.service.config.cancellation_token;
            match self.0.sessions.use_and_wake_session(session, current.identity(), stop).await {
                Ok(used) => used.into_iter().for_each(|used| current.hold_session(used)),
                Err(refusal) => return refusal.to_response(),
            }
        }
        let mut response = match self.forward_to_sdk(request, session, departure, &current).await {
            Ok(response) => response,
            Err(refused) => return refused,
        };
        if is_end && response.status() == StatusCode::ACCEPTED {
            // The session has ended; the official Python client takes 202 for a failure.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        let left = |at: SystemTime| at.duration_since(SystemTime::now()).unwrap_or_default();
        let expired = expires.map(|at| Box::pin(tokio::time::sleep(left(at))));
        drop(current);
        response
            .map(|body| AnswerBody { body, expired, _departing, _open: open, _settling: settling }.boxed())
    }

    /// Forwards a request to the SDK.
    ///
    /// # Errors
    ///
    /// The answer to a request that is refused.
    async fn forward_to_sdk<B>(
        &self,
        mut request: Request<B>,
        session: Option<String>,
        departure: Option<CancellationToken>,
        current: &Arc<CurrentRequest>,
    ) -> Result<HttpAnswer, HttpAnswer>
    where
        B: Body + Send + 'static,
        B::Error: fmt::Display,
        B::Data: Send,
    {
        let facts = Arc::new(HttpRequestFacts::new(session, current.identity().cloned(), departure));
        request.extensions_mut().insert(Arc::clone(&facts));
        #[cfg(feature = "postgres")]
        let request_facts = Arc::clone(&facts);
        let limits = BodyLimits {
            max_bytes: self.0.max_request,
            idle_time: self.0.config.body_idle_time,
            bodies: Arc::clone(&self.0.bodies),
        };
        let (shared, of_body) = (Arc::clone(&self.0.shared), Arc::clone(current));
        let request = request.map(|body| ArgumentStrippingBody::new(body, facts, shared, of_body, limits));
        // Boxed: the future of the SDK is large, and would be copied with this one.
        let answering = Box::pin(self.0.service.handle(request));
        let response = REQUEST.scope(Arc::clone(current), answering).await;
        if let Some(refusal) = current.refusal() {
            return Err(refusal.to_response());
        }
        match (response.status(), current.id()) {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, Some(id)) => {
                // The SDK cannot decode the message, and does not say which.
                let error = ErrorData::invalid_request("the request cannot be read", None);
                Err(RequestRefusal::Message(RefusedMessage { id: Some(id.clone()), error }).to_response())
            }
            #[cfg(feature = "postgres")]
            (StatusCode::INTERNAL_SERVER_ERROR, _) => {
                Ok(self.session_refusal_or_answer(response, request_facts.session.as_deref()).await)
            }
            _ => Ok(response),
        }
    }
}

/// Marks the values of headers that are not logged.
fn mark_secret_headers(headers: &mut HeaderMap) {
    for (name, value) in headers {
        if [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION].contains(name) {
            value.set_sensitive(true);
        }
    }
}

type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

impl<B> Service<Request<B>> for HttpServer
where
    B: Body + Send + 'static,
    B::Error: fmt::Display,
    B::Data: Send,
{
    type Response = Response<BoxBody<Bytes, Infallible>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer_request(request).await) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_with_credentials_are_not_shown() {
        let names = ["authorization", "cookie", "proxy-authorization", "mcp-session-id", "accept"];
        let value = HeaderValue::from_static("value");
        let mut headers =
            HeaderMap::from_iter(names.map(|name| (header::HeaderName::from_static(name), value.clone())));
        mark_secret_headers(&mut headers);
        assert_eq!(names.map(|name| headers[name].is_sensitive()), [true, true, true, false, false]);
    }
}
