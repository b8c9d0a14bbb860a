//! Settings of a server over HTTP.

use std::{sync::Arc, time::Duration};

use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig,
    session::{EventStore, SessionStore},
};

use super::{ResourceServer, names::AcceptedNames};
use crate::server::ServeError;

/// The names of this machine for itself.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Settings of a server over HTTP.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tool_mcp::server::HttpConfig;
///
/// let config = HttpConfig::new()
///     .hosts(["mcp.example.com"])
///     .origins(["https://app.example.com:443"])
///     .max_sessions(500)
///     .idle_time(Duration::from_secs(600));
/// ```
#[derive(Debug, Clone)]
pub struct HttpConfig {
    hosts: Vec<String>,
    origins: Vec<String>,
    pub(super) head_time: Duration,
    pub(super) keep_alive_time: Duration,
    pub(super) body_idle_time: Duration,
    pub(super) max_bodies: usize,
    pub(super) max_sessions: usize,
    pub(super) max_sessions_per_caller: usize,
    pub(super) max_ready_sessions: usize,
    pub(super) idle_time: Duration,
    pub(super) resume_time: Duration,
    pub(super) protection: Option<ResourceServer>,
    pub(super) session_store: Option<Arc<dyn SessionStore>>,
    pub(super) event_store: Option<Arc<dyn EventStore>>,
    #[cfg(feature = "postgres")]
    pub(super) cluster: Option<super::Cluster>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpConfig {
    /// Creates the default settings.
    #[must_use]
    pub fn new() -> Self {
        let origins = LOCAL.iter().flat_map(|host| [format!("http://{host}:*"), format!("https://{host}:*")]);
        Self {
            hosts: LOCAL.map(str::to_owned).into(),
            origins: origins.collect(),
            head_time: Duration::from_secs(10),
            keep_alive_time: Duration::from_secs(60),
            body_idle_time: Duration::from_secs(30),
            max_bodies: 64,
            max_sessions: 10_000,
            max_sessions_per_caller: 1_000,
            max_ready_sessions: 256,
            idle_time: Duration::from_secs(5 * 60),
            resume_time: Duration::from_secs(30),
            protection: None,
            session_store: None,
            event_store: None,
            #[cfg(feature = "postgres")]
            cluster: None,
        }
    }

    /// Sets the values of the header `Host` that are accepted: names, or names with a port. Others have status 403, so that a
    /// web page cannot reach a server on the user's machine (DNS rebinding). Default: `localhost`, `127.0.0.1`, `[::1]`.
    #[must_use]
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// Accepts every value of the header `Host`, for a server behind a proxy that validates it.
    #[must_use]
    pub fn any_host(mut self) -> Self {
        self.hosts.clear();
        self
    }

    /// Sets the values of the header `Origin` that are accepted: scheme, host and port (`*` for any). A request without the
    /// header is accepted; any other value has status 403, also two of them. An origin
    /// without a port is accepted with any. Default: the pages of this machine, such as
    /// `http://localhost:*`.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the time for the head of a request, from its first byte, or from the start of its connection; then the connection ends.
    /// It applies to [`HttpServer::serve`](super::HttpServer::serve) and [`McpServer::serve_http`](crate::server::McpServer::serve_http): the
    /// connections of a program's own router are the program's. Both accept heads of 64 KiB at most. Default: 10 seconds.
    #[must_use]
    pub fn head_time(mut self, time: Duration) -> Self {
        self.head_time = time;
        self
    }

    /// Sets the time that a connection may wait between two requests; then it ends. It applies as
    /// [`head_time`](Self::head_time) does. Default: 1 minute.
    #[must_use]
    pub fn keep_alive_time(mut self, time: Duration) -> Self {
        self.keep_alive_time = time;
        self
    }

    /// Sets the time in which more of a body has to arrive; then the request has status 408. Default: 30 seconds.
    #[must_use]
    pub fn body_idle_time(mut self, time: Duration) -> Self {
        self.body_idle_time = time;
        self
    }

    /// Sets the most bodies that are received at once, each of which may hold [`McpServer::max_request`](crate::server::McpServer::max_request)
    /// bytes of memory. Beyond it, the body that arrives at the lowest rate has status 503; if all of them are younger than a second, the
    /// new one has. A body that arrives together with its head is not counted. Default: 64.
    #[must_use]
    pub fn max_bodies(mut self, bodies: usize) -> Self {
        self.max_bodies = bodies;
        self
    }

    /// Sets the most sessions that are open at once, up to revision 2025-11-25. Beyond it, `initialize` is refused with status
    /// 503. Default: 10,000.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Sets the most sessions of one [`Identity`](super::Identity) that are open at once, up to revision 2025-11-25. Beyond it,
    /// `initialize` is refused with status 429. Sessions without an identity have the limit
    /// [`max_sessions`](Self::max_sessions) alone. Default: 1000.
    #[must_use]
    pub fn max_sessions_per_caller(mut self, sessions: usize) -> Self {
        self.max_sessions_per_caller = sessions;
        self
    }

    /// Sets the most sessions without a request or a stream that are held ready, each of which costs about 64 KiB. Beyond it, the ones that
    /// were used least recently rest, and cost at most 16 KiB; their next request sets them up again. With an
    /// [event store](Self::event_store), no session rests. Default: 256.
    #[must_use]
    pub fn max_ready_sessions(mut self, sessions: usize) -> Self {
        self.max_ready_sessions = sessions;
        self
    }

    /// Sets the time after which a session ends that has no open stream and no request. Default: 5 minutes.
    #[must_use]
    pub fn idle_time(mut self, time: Duration) -> Self {
        self.idle_time = time;
        self
    }

    /// Sets the time in which a client of revision 2025-11-25 or before that lost the connection during a call may resume it;
    /// then the call is cancelled. From 2026-07-28 on, it is cancelled at once. Default: 30 seconds.
    #[must_use]
    pub fn resume_time(mut self, time: Duration) -> Self {
        self.resume_time = time;
        self
    }

    /// Requires bearer tokens. Default: none.
    #[must_use]
    pub fn protect(mut self, protection: ResourceServer) -> Self {
        self.protection = Some(protection);
        self
    }

    /// Sets where sessions are stored, so that any process that serves the same URL can continue them, with the same
    /// [key](crate::server::McpServer::key). From revision 2026-07-28 on, requests need no sessions. Default: none, a session lives
    /// in one process.
    #[must_use]
    pub fn session_store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.session_store = Some(store);
        self
    }

    /// Sets where events are stored, so that a client that lost the connection can resume its stream at any process with the same
    /// [key](crate::server::McpServer::key): a session resumes its own streams only. A call
    /// then goes on without its client: [`resume_time`](Self::resume_time) does not apply. Default: none, the events of the last
    /// minute are kept in the process.
    #[must_use]
    pub fn event_store(mut self, store: Arc<dyn EventStore>) -> Self {
        self.event_store = Some(store);
        self
    }

    /// Serves together with other processes behind a load balancer, without sticky sessions: any process answers any request. The cluster takes
    /// the place of [`session_store`](Self::session_store), [`event_store`](Self::event_store), and, unless they are set,
    /// [`McpServer::key`](crate::server::McpServer::key) and [`McpServer::used_states`](crate::server::McpServer::used_states).
    /// [`max_sessions`](Self::max_sessions), [`max_sessions_per_caller`](Self::max_sessions_per_caller), [`idle_time`](Self::idle_time),
    /// [`McpServer::max_tasks`](crate::server::McpServer::max_tasks), [`McpServer::max_tasks_per_caller`](crate::server::McpServer::max_tasks_per_caller)
    /// and [`McpServer::max_calls_per_caller`](crate::server::McpServer::max_calls_per_caller) then apply to all processes together;
    /// [`McpServer::max_calls`](crate::server::McpServer::max_calls) applies to each. All processes have the same limits. Default: none.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub fn cluster(mut self, cluster: super::Cluster) -> Self {
        let stores = cluster.stores();
        self.session_store = Some(stores.clone());
        self.event_store = Some(stores);
        self.cluster = Some(cluster);
        self
    }

    /// Returns the names that are accepted.
    pub(super) fn accepted_names(&self) -> Result<AcceptedNames, ServeError> {
        let setting = |(setting, value)| ServeError::Setting { setting, value };
        AcceptedNames::parse(&self.hosts, &self.origins).map_err(setting)
    }

    pub(super) fn sdk_config(&self, max_request: usize) -> StreamableHttpServerConfig {
        let mut sdk = StreamableHttpServerConfig::default()
            // Both are validated before.
            .disable_allowed_hosts()
            .with_max_request_body_bytes(max_request)
            // From 2026-07-28 on: an answer alone is no stream, so that its connection is free at once. A stored event is one of a stream.
            .with_json_response(self.event_store.is_none());
        sdk.session_store.clone_from(&self.session_store);
        sdk
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn the_default_settings_are_those_of_the_documentation() {
        let config = HttpConfig::default();
        let times = [
            config.head_time,
            config.keep_alive_time,
            config.body_idle_time,
            config.idle_time,
            config.resume_time,
        ];
        assert_eq!(times.map(|time| time.as_secs()), [10, 60, 30, 300, 30]);
        let limits = [
            config.max_bodies,
            config.max_sessions,
            config.max_sessions_per_caller,
            config.max_ready_sessions,
        ];
        assert_eq!(limits, [64, 10_000, 1_000, 256]);
        assert_eq!(config.hosts, ["localhost", "127.0.0.1", "[::1]"]);
        assert_eq!(config.origins.len(), 6);
        assert!(
            config.protection.is_none() && config.event_store.is_none() && config.session_store.is_none()
        );
    }

    #[test]
    fn each_setting_is_its_own() {
        let config = HttpConfig::new()
            .hosts(["a.example"])
            .origins(["https://b.example"])
            .head_time(Duration::from_secs(1))
            .keep_alive_time(Duration::from_secs(2))
            .body_idle_time(Duration::from_secs(3))
            .idle_time(Duration::from_secs(4))
            .resume_time(Duration::from_secs(5))
            .max_bodies(6)
            .max_sessions(7)
            .max_sessions_per_caller(8)
            .max_ready_sessions(9)
            .protect(ResourceServer::new("https://a.example/mcp", |token: &str| {
                Ok(super::super::Identity::new(token))
            }));
        let times = [
            config.head_time,
            config.keep_alive_time,
            config.body_idle_time,
            config.idle_time,
            config.resume_time,
        ];
        assert_eq!(times.map(|time| time.as_secs()), [1, 2, 3, 4, 5]);
        let limits = [
            config.max_bodies,
            config.max_sessions,
            config.max_sessions_per_caller,
            config.max_ready_sessions,
        ];
        assert_eq!(limits, [6, 7, 8, 9]);
        assert_eq!(
            (config.hosts.as_slice(), config.origins.as_slice()),
            (&["a.example".to_owned()][..], &["https://b.example".to_owned()][..])
        );
        assert!(config.protection.is_some() && config.accepted_names().is_ok());
        let sdk = config.sdk_config(77);
        assert_eq!((sdk.max_request_body_bytes, sdk.json_response), (77, true));
        assert!(config.any_host().hosts.is_empty());
        let error = HttpConfig::new().origins(["b.example"]).accepted_names().unwrap_err();
        let expected = "`origins` has the value `b.example`, which is none: write scheme, host and port, such as \
                        `https://example.com:443`, or `*` as the port";
        assert_eq!(error.to_string(), expected);
        let error = HttpConfig::new().hosts(["a/b"]).accepted_names().unwrap_err();
        let expected = "`hosts` has the value `a/b`, which is none: write a name, or a name with a port, such as `example.com:8443`";
        assert_eq!(error.to_string(), expected);
    }
}
