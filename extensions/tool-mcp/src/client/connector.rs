//! Making a connection to a server.

use std::{io, sync::Arc};

use rmcp::{
    RoleClient,
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode},
    transport::Transport as Carrier,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinSet,
};
use tool_runtime::BoxFuture;

use super::{
    announcements::AnnouncedChanges,
    config::{ServerConfig, Transport},
    connection::{Connection, automatic_lifecycle},
    error::{ClientError, ClientErrorCause},
    handler::{ConnectionHandler, QuestionHandlers},
    notices::Notices,
    questions::QuestionLimiter,
    transport::{LineTransport, Reception, StderrTail, WaitingCalls, spawn_process},
};

/// A pair of streams.
pub(super) type StreamPair = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

/// Opens the streams of a connection.
pub(super) type StreamOpener = dyn Fn() -> BoxFuture<'static, io::Result<StreamPair>> + Send + Sync;

/// The parts of which a connection is made.
pub(super) struct Connector {
    pub(super) config: Arc<ServerConfig>,
    /// The name of the server.
    pub(super) name: Arc<str>,
    /// Opens the streams of a connection, in place of the configured transport.
    pub(super) open: Option<Arc<StreamOpener>>,
    pub(super) protocol: Option<ProtocolVersion>,
    pub(super) answers: QuestionHandlers,
    pub(super) changes: Arc<AnnouncedChanges>,
    pub(super) notices: Arc<Notices>,
    pub(super) questions: Arc<QuestionLimiter>,
    #[cfg(feature = "http")]
    pub(super) headers: super::headers::HeaderSource,
    #[cfg(feature = "auth")]
    pub(super) authorized: Option<Arc<super::oauth::ServerAuthorization>>,
}

impl Connector {
    pub(super) fn error(&self, cause: ClientErrorCause) -> ClientError {
        ClientError::new(&self.name, cause)
    }

    /// Connects, within the timeout of the configuration.
    pub(super) async fn connect(&self) -> Result<Connection, ClientError> {
        self.config.validate().map_err(|error| self.error(ClientErrorCause::Config(error.to_string())))?;
        let mode = match &self.protocol {
            None => automatic_lifecycle(),
            Some(version) if version.has_initialize() => ClientLifecycleMode::Initialize,
            Some(version) => ClientLifecycleMode::Discover { preferred_versions: vec![version.clone()] },
        };
        let stderr = StderrTail::default();
        match tokio::time::timeout(self.config.timeout, self.connect_transport(mode, &stderr)).await {
            Ok(connected) => connected.map_err(|error| error.with_process_end(&stderr)),
            Err(_) => {
                Err(self.error(ClientErrorCause::TimedOut(self.config.timeout)).with_process_end(&stderr))
            }
        }
    }

    async fn connect_transport(
        &self,
        mode: ClientLifecycleMode,
        stderr: &StderrTail,
    ) -> Result<Connection, ClientError> {
        let reception = Arc::new(Reception::new(Arc::clone(&self.notices)));
        if let Some(open) = &self.open {
            let (read, write) =
                open().await.map_err(|error| self.error(ClientErrorCause::Connect(error.to_string())))?;
            let transport = LineTransport::new(read, write, Arc::clone(&reception));
            return self
                .start_protocol(transport, &reception, mode, StderrTail::default(), JoinSet::new())
                .await;
        }
        match &self.config.transport {
            Transport::Stdio(process) => {
                let started = spawn_process(process, stderr, Arc::clone(&reception)).map_err(|error| {
                    self.error(ClientErrorCause::Connect(format!(
                        "`{}` cannot be started: {error}",
                        process.command
                    )))
                })?;
                let mut tasks = JoinSet::new();
                tasks.spawn(started.watching);
                if let Some(errors) = started.stderr {
                    let secrets = self.config.transport.secret_values().map(str::to_owned).collect();
                    tasks.spawn(stderr.drain_task(Arc::clone(&self.name), secrets, errors));
                }
                self.start_protocol(started.transport, &reception, mode, stderr.clone(), tasks).await
            }
            #[cfg(feature = "http")]
            Transport::Http(endpoint) => {
                let headers = self.headers.connection_headers(endpoint).await?;
                let client = super::transport::http::Client {
                    http: self.http_client()?,
                    #[cfg(feature = "auth")]
                    authorized: self.authorized.clone(),
                    reception: Arc::clone(&reception),
                    pauses: Arc::new(super::transport::http::ReconnectPauses::new(&self.config.limits)),
                };
                let transport = super::transport::http::http_transport(client, endpoint, headers.clone());
                match self
                    .start_protocol(transport, &reception, mode, StderrTail::default(), JoinSet::new())
                    .await
                {
                    // A server from before streamable HTTP.
                    Err(error) if self.may_lack_streamable_http(&reception) => {
                        self.connect_sse(endpoint, headers).await.map_err(|_| error)
                    }
                    started => started,
                }
            }
            #[cfg(feature = "http")]
            Transport::Sse(endpoint) => {
                let headers = self.headers.connection_headers(endpoint).await?;
                self.connect_sse(endpoint, headers).await
            }
            #[allow(unreachable_patterns, reason = "depends on the features")]
            other => {
                let message = format!("the transport `{}` is not supported by this build", other.name());
                Err(self.error(ClientErrorCause::Connect(message)))
            }
        }
    }

    /// Returns `true` if the server refused the handshake by a status of servers without streamable HTTP.
    #[cfg(feature = "http")]
    fn may_lack_streamable_http(&self, reception: &Reception) -> bool {
        self.protocol.as_ref().is_none_or(ProtocolVersion::has_initialize)
            && matches!(reception.handshake_refusal_status(), Some(400 | 404 | 405))
    }

    #[cfg(feature = "http")]
    fn http_client(&self) -> Result<reqwest::Client, ClientError> {
        super::transport::http::http_client_without_redirects()
            .map_err(|error| self.error(ClientErrorCause::Connect(error.to_string())))
    }

    /// Connects over HTTP with server-sent events, which only revisions with `initialize` have.
    #[cfg(feature = "http")]
    async fn connect_sse(
        &self,
        endpoint: &super::config::Endpoint,
        headers: super::transport::http_headers::Headers,
    ) -> Result<Connection, ClientError> {
        let reception = Arc::new(Reception::new(Arc::clone(&self.notices)));
        let client = self.http_client()?;
        let opened = super::transport::sse::connect(client, endpoint, headers, Arc::clone(&reception)).await;
        let transport = opened
            .map_err(|failure| self.error(ClientErrorCause::Connect(super::error::error_chain(&failure))))?;
        let mode = ClientLifecycleMode::Initialize;
        self.start_protocol(transport, &reception, mode, StderrTail::default(), JoinSet::new()).await
    }

    async fn start_protocol<T: Carrier<RoleClient> + 'static>(
        &self,
        transport: T,
        reception: &Arc<Reception>,
        mode: ClientLifecycleMode,
        stderr: StderrTail,
        tasks: JoinSet<()>,
    ) -> Result<Connection, ClientError> {
        let handler = ConnectionHandler {
            server: Arc::clone(&self.name),
            client_info: self.config.client_info.clone(),
            protocol: self.protocol.clone(),
            answers: self.answers.clone(),
            calls: Arc::<WaitingCalls>::default(),
            questions: Arc::clone(&self.questions),
            changed: Arc::new({
                let changes = Arc::clone(&self.changes);
                move |change| changes.announce(change)
            }),
        };
        // Boxed: the compiler cannot prove that the future of the SDK is `Send` for all lifetimes.
        let started: BoxFuture<'static, _> = Box::pin(Connection::start_protocol(
            transport,
            handler,
            Arc::clone(reception),
            mode,
            stderr,
            tasks,
            self.config.limits,
        ));
        let started = started.await;
        started.map_err(|error: ClientInitializeError| match reception.handshake_failure() {
            Some(reason) => self.error(ClientErrorCause::Handshake(reason)),
            None => ClientError::from_initialize_error(&self.name, &error),
        })
    }
}
