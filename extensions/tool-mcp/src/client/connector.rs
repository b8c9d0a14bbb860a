//! The way to a server: at most one connection at a time, which all tools of the server share.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    RoleClient,
    model::{LoggingLevel, ProtocolVersion},
    service::{ClientInitializeError, ClientLifecycleMode},
    transport::Transport as Carrier,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::OnceCell,
    task::JoinSet,
};
use tool_runtime::BoxFuture;

use super::{
    changes::Changes,
    config::{ServerConfig, Transport},
    connection::{Connection, automatic},
    error::{Cause, ClientError},
    handler::{Answers, Handler, ServerChange},
    listing::Reading,
    notices::Notices,
    pins::Pinned,
    questions::Questions,
    transport::{Calls, LineTransport, Reception, Tail, spawn},
};

/// A pair of streams.
pub(super) type Streams = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

/// Opens the streams of a connection.
pub(super) type Open = dyn Fn() -> BoxFuture<'static, io::Result<Streams>> + Send + Sync;

/// The way to a server.
pub(super) struct Link {
    pub(super) config: ServerConfig,
    pub(super) name: Arc<str>,
    /// Opens the connection, in place of the configured transport.
    pub(super) open: Option<Arc<Open>>,
    pub(super) protocol: Option<ProtocolVersion>,
    pub(super) answers: Answers,
    pub(super) changes: Arc<Changes>,
    pub(super) notices: Arc<Notices>,
    questions: Arc<Questions>,
    pub(super) reading: Reading,
    pub(super) pinned: Mutex<Option<Arc<Pinned>>>,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) call_meta: Option<Arc<super::builder::CallMeta>>,
    #[cfg(feature = "http")]
    pub(super) headers: Option<Arc<super::headers::Provide>>,
    #[cfg(feature = "auth")]
    pub(super) authorized: Option<Arc<super::oauth::Authorized>>,
    current: Mutex<Arc<Slot>>,
    is_closed: AtomicBool,
    was_connected: AtomicBool,
}

/// The place of one connection, or of the error of making it, which the first user fills for all that wait.
type Slot = OnceCell<Result<Arc<Connection>, ClientError>>;

impl Link {
    pub(super) fn new(config: ServerConfig, reading: Reading, changes: Arc<Changes>) -> Self {
        let name: Arc<str> = config.name.as_str().into();
        let notices = Arc::new(Notices::new(Arc::clone(&name)));
        Self {
            questions: Arc::new(Questions::new(config.limits, Arc::clone(&notices))),
            notices,
            name,
            config,
            open: None,
            protocol: None,
            answers: Answers::default(),
            changes,
            reading,
            pinned: Mutex::default(),
            log_level: None,
            call_meta: None,
            #[cfg(feature = "http")]
            headers: None,
            #[cfg(feature = "auth")]
            authorized: None,
            current: Mutex::default(),
            is_closed: AtomicBool::new(false),
            was_connected: AtomicBool::new(false),
        }
    }

    pub(super) fn error(&self, cause: Cause) -> ClientError {
        ClientError::new(&self.name, cause)
    }

    fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the connection as it is, or connects if there was none yet.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, ClientError> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(self.error(Cause::Closed));
        }
        let slot = self.slot();
        let connection = match slot.get_or_init(|| self.connect()).await {
            Ok(connection) => connection,
            Err(error) => {
                // The next user tries again.
                self.replace(|current| Arc::ptr_eq(current, &slot));
                return Err(error.clone());
            }
        };
        // Closed while it was made: `close` did not see it.
        if self.is_closed.load(Ordering::Acquire) {
            connection.close().await;
            return Err(self.error(Cause::Closed));
        }
        Ok(Arc::clone(connection))
    }

    /// Returns another connection than `lost`: the one that another call has made already, or a new one.
    pub(super) async fn instead_of(&self, lost: &Arc<Connection>) -> Result<Arc<Connection>, ClientError> {
        self.forget(lost);
        self.connection().await
    }

    /// Gives up a connection, unless it is replaced already.
    pub(super) fn forget(&self, lost: &Arc<Connection>) {
        self.replace(|current| matches!(current.get(), Some(Ok(it)) if Arc::ptr_eq(it, lost)));
    }

    fn replace(&self, if_it_is: impl FnOnce(&Arc<Slot>) -> bool) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let before = if_it_is(&current).then(|| std::mem::take(&mut *current));
        drop(current);
        // A connection may end here, outside of the lock.
        drop(before);
    }

    /// The connection, if there is one.
    pub(super) fn existing(&self) -> Option<Arc<Connection>> {
        self.slot().get()?.as_ref().ok().cloned()
    }

    /// Ends the connection; later calls fail.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        if let Some(connection) = self.existing() {
            connection.close().await;
        }
    }

    async fn connect(&self) -> Result<Arc<Connection>, ClientError> {
        self.config.validate().map_err(|error| self.error(Cause::Config(error.to_string())))?;
        let mode = match &self.protocol {
            None => automatic(),
            Some(version) if version.has_initialize() => ClientLifecycleMode::Initialize,
            Some(version) => ClientLifecycleMode::Discover { preferred_versions: vec![version.clone()] },
        };
        let stderr = Tail::default();
        match tokio::time::timeout(self.config.timeout, self.dial(mode, &stderr)).await {
            Ok(Ok(connection)) => {
                if self.was_connected.swap(true, Ordering::AcqRel) {
                    // Another process, maybe of another version.
                    self.changes.happened(ServerChange::Tools);
                }
                Ok(Arc::new(connection))
            }
            Ok(Err(error)) => Err(error.after(&stderr)),
            Err(_) => Err(self.error(Cause::TimedOut(self.config.timeout)).after(&stderr)),
        }
    }

    async fn dial(&self, mode: ClientLifecycleMode, stderr: &Tail) -> Result<Connection, ClientError> {
        let reception = Arc::new(Reception::new(Arc::clone(&self.notices)));
        if let Some(open) = &self.open {
            let (read, write) =
                open().await.map_err(|error| self.error(Cause::Connect(error.to_string())))?;
            let transport = LineTransport::new(read, write, Arc::clone(&reception));
            return self.start(transport, &reception, mode, Tail::default(), JoinSet::new()).await;
        }
        match &self.config.transport {
            Transport::Stdio(process) => {
                let started = spawn(process, stderr, Arc::clone(&reception)).map_err(|error| {
                    self.error(Cause::Connect(format!("`{}` cannot be started: {error}", process.command)))
                })?;
                let mut tasks = JoinSet::new();
                tasks.spawn(started.watching);
                if let Some(errors) = started.stderr {
                    let secrets = self.config.transport.secrets().map(str::to_owned).collect();
                    tasks.spawn(stderr.draining(Arc::clone(&self.name), secrets, errors));
                }
                self.start(started.transport, &reception, mode, stderr.clone(), tasks).await
            }
            #[cfg(feature = "http")]
            Transport::Http(endpoint) => {
                let headers = self.connection_headers(endpoint).await?;
                let client = super::transport::http::Client {
                    http: self.http_client()?,
                    #[cfg(feature = "auth")]
                    authorized: self.authorized.clone(),
                    reception: Arc::clone(&reception),
                    pauses: Arc::new(super::transport::http::Pauses::new(&self.config.limits)),
                };
                let transport = super::transport::http::transport(client, endpoint, headers.clone());
                match self.start(transport, &reception, mode, Tail::default(), JoinSet::new()).await {
                    // A server from before streamable HTTP.
                    Err(error) if self.may_be_older(&reception) => {
                        self.dial_sse(endpoint, headers).await.map_err(|_| error)
                    }
                    started => started,
                }
            }
            #[cfg(feature = "http")]
            Transport::Sse(endpoint) => {
                let headers = self.connection_headers(endpoint).await?;
                self.dial_sse(endpoint, headers).await
            }
            #[allow(unreachable_patterns, reason = "depends on the features")]
            other => {
                let message = format!("the transport `{}` is not supported by this build", other.name());
                Err(self.error(Cause::Connect(message)))
            }
        }
    }

    /// Returns `true` if the server refused the handshake by a status of servers without streamable HTTP.
    #[cfg(feature = "http")]
    fn may_be_older(&self, reception: &Reception) -> bool {
        self.protocol.as_ref().is_none_or(ProtocolVersion::has_initialize)
            && matches!(reception.refusal(), Some(400 | 404 | 405))
    }

    /// Connects over HTTP with server-sent events, which only revisions with `initialize` have.
    #[cfg(feature = "http")]
    async fn dial_sse(
        &self,
        endpoint: &super::config::Endpoint,
        headers: super::transport::http::Headers,
    ) -> Result<Connection, ClientError> {
        let reception = Arc::new(Reception::new(Arc::clone(&self.notices)));
        let client = self.http_client()?;
        let opened = super::transport::sse::connect(client, endpoint, headers, Arc::clone(&reception)).await;
        let transport =
            opened.map_err(|failure| self.error(Cause::Connect(super::error::chain(&failure))))?;
        let mode = ClientLifecycleMode::Initialize;
        self.start(transport, &reception, mode, Tail::default(), JoinSet::new()).await
    }

    async fn start<T: Carrier<RoleClient> + 'static>(
        &self,
        transport: T,
        reception: &Arc<Reception>,
        mode: ClientLifecycleMode,
        stderr: Tail,
        tasks: JoinSet<()>,
    ) -> Result<Connection, ClientError> {
        let handler = Handler {
            server: Arc::clone(&self.name),
            client_info: self.config.client_info.clone(),
            protocol: self.protocol.clone(),
            answers: self.answers.clone(),
            calls: Arc::<Calls>::default(),
            questions: Arc::clone(&self.questions),
            changed: Arc::new({
                let changes = Arc::clone(&self.changes);
                move |change| changes.happened(change)
            }),
        };
        // Boxed: the compiler cannot prove that the future of the SDK is `Send` for all lifetimes.
        let started: BoxFuture<'static, _> =
            Box::pin(Connection::start(transport, handler, Arc::clone(reception), mode, stderr, tasks));
        let started = started.await;
        started.map_err(|error: ClientInitializeError| match reception.failure() {
            Some(reason) => self.error(Cause::Handshake(reason)),
            None => ClientError::of_start(&self.name, &error),
        })
    }
}
