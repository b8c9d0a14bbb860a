//! Servers over HTTP are created.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::StreamableHttpService;
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio_util::task::task_tracker::TaskTracker;
use tool_runtime::CancellationToken;

#[cfg(feature = "postgres")]
use super::ClusterLink;
use super::{
    HttpConfig, HttpServer, HttpServerState, current_request::REQUEST, received_bodies::ReceivedBodies,
    sessions::HttpSessions,
};
use crate::server::{McpServer, ServeError, handler::RequestHandler, session_state::SessionState};

impl McpServer {
    /// Returns the server as a `tower` service for streamable HTTP, with the default [`HttpConfig`].
    ///
    /// # Errors
    ///
    /// If the server cannot be built.
    pub fn http(self) -> Result<HttpServer, ServeError> {
        self.http_with(HttpConfig::new())
    }

    /// Returns the server as a `tower` service for streamable HTTP.
    ///
    /// # Errors
    ///
    /// If the server cannot be built.
    pub fn http_with(self, config: HttpConfig) -> Result<HttpServer, ServeError> {
        #[cfg(feature = "postgres")]
        let this = self.with_cluster_defaults(&config);
        #[cfg(not(feature = "postgres"))]
        let this = self;
        let max_request = this.max_request;
        let names = config.accepted_names()?;
        let shared = this.into_server_state()?;
        let sessions = Arc::new(HttpSessions::new(&config, Arc::clone(&shared)));
        #[cfg(feature = "postgres")]
        let cluster_tasks = config.cluster.as_ref().map(|cluster| {
            let (link, ended_tasks) = ClusterLink::new(cluster.clone());
            shared.cluster.set(link).ok();
            cluster.spawn_serving_tasks(&shared, &sessions.table, config.idle_time, ended_tasks)
        });
        let factory = {
            let shared = Arc::clone(&shared);
            move || {
                let state = REQUEST.try_with(|request| request.session_state_or_new(&shared));
                let state = state.unwrap_or_else(|_| Arc::new(SessionState::new(&shared)));
                Ok(RequestHandler::new(Arc::clone(&shared), state))
            }
        };
        let sdk = config.sdk_config(max_request);
        Ok(HttpServer(Arc::new(HttpServerState {
            service: StreamableHttpService::new(factory, Arc::clone(&sessions), sdk),
            sessions,
            shared,
            names,
            bodies: Arc::new(ReceivedBodies::new(config.max_bodies)),
            config,
            max_request,
            open: TaskTracker::new(),
            #[cfg(feature = "postgres")]
            _cluster_tasks: cluster_tasks,
        })))
    }

    /// Serves streamable HTTP at `address` under the path `/mcp`, until `stop` is cancelled.
    ///
    /// # Errors
    ///
    /// If the server cannot be built, or the address is not available.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tool_mcp::server::McpServer;
    /// use tool_runtime::{CancellationToken, prelude::*};
    ///
    /// # async fn example() -> anyhow::Result<()> {
    /// McpServer::new(Registry::discover()?).serve_http("127.0.0.1:3001", CancellationToken::new()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn serve_http(
        self,
        address: impl ToSocketAddrs,
        stop: CancellationToken,
    ) -> Result<(), ServeError> {
        let server = self.http()?;
        let listener = TcpListener::bind(address).await.map_err(ServeError::Listener)?;
        server.serve(listener, stop).await
    }
}
