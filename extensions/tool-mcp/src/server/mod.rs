//! The tools of the program as a server.
//!
//! [`serve_stdio`] serves a client that starts the program; [`McpServer`] sets name, instructions and limits, and serves
//! any pair of streams, or streamable HTTP ([`McpServer::serve_http`], [`HttpServer`]). Tools are a [`Registry`], an
//! [`Executor`], whose rules, hooks, limits and approver then hold for remote calls, or a [`Toolbox`], whose changes are
//! announced to clients. [`Resources`] and [`Prompts`] are traits; [`ResourceSet`] and [`PromptSet`] are in memory. A server has any
//! number of each.
//!
//! All revisions of the protocol are served that `rmcp` speaks, 2026-07-28 among them.
//!
//! # The run of a call
//!
//! Each request is a run: its session is the connection, its [meta](tool_runtime::RunContext::meta) the `_meta` of the
//! request, its [client](tool_runtime::RunContext::client) as it described itself, and the client cancels it.
//! Progress reports reach a client that sent a token, log lines reach a client that requested them. [`Caller`] asks the client.
//!
//! # Results
//!
//! A failure of a tool is a result with `isError`, which a model can read; an unknown tool is the JSON-RPC error -32602. A
//! tool with an output schema has structured content; up to revision 2025-11-25, a value that is no object stands in an
//! object, under `result`.
//!
//! # Items that the server lost
//!
//! A tool that a server should have and does not, since its set cannot be listed, its name is taken or its visibility panicked, is a log line,
//! a diagnostic of [`McpServer::on_diagnostic`] and [`HttpServer::diagnostics`], and a line of the command `serve`; so are the prompts
//! and resources that a list lacks. The server has its other items all the same.
//!
//! # Messages that cannot be read
//!
//! | part | effect |
//! | --- | --- |
//! | a member of `params` | the JSON-RPC error -32602 with the id of the request, which names the member |
//! | the message, its id or its method, or a list of messages | the JSON-RPC error -32700 or -32600, with the id if it can be read |
//! | a part that nothing depends on, such as an icon of the client or a progress token | it is left out, and logged |
//! | an empty list in the place of an object | it is an empty object |
//! | a notification, or an answer to a question; over streams, also before the first request | it is left out, and logged; over HTTP, status 400 |
//! | an id of a request that is not answered yet, or a second `initialize` | the JSON-RPC error -32600; the session stays as it is |
//!
//! # Callers over HTTP
//!
//! A server answers requests for this machine's own names only, and from its own pages; [`HttpConfig::hosts`] and
//! [`HttpConfig::origins`] set others. [`HttpConfig::protect`] requires bearer tokens. The [`Identity`] of the caller and its
//! [`RequestHeaders`] are values of the run, so that rules of an executor and the visibility of a toolbox differ by caller;
//! resources and prompts receive the run, too.
//!
//! # Limits
//!
//! | limit | default | beyond it |
//! | --- | --- | --- |
//! | [`McpServer::max_request`] | 4 MiB | status 413; a line is dropped and logged |
//! | [`McpServer::max_calls`] | 4096 | the JSON-RPC error -32000 |
//! | [`McpServer::max_calls_per_caller`] | 1024 | the JSON-RPC error -32000 |
//! | [`HttpConfig::head_time`] | 10 seconds | the connection ends |
//! | [`HttpConfig::keep_alive_time`] | 1 minute | the connection, which has no request, ends |
//! | [`HttpConfig::body_idle_time`] | 30 seconds | status 408 |
//! | [`HttpConfig::max_bodies`] | 64 | the slowest body has status 503 |
//! | [`HttpConfig::max_sessions`] | 10,000 | `initialize` has status 503 |
//! | [`HttpConfig::max_sessions_per_caller`] | 1000 | `initialize` has status 429 |
//! | [`HttpConfig::max_ready_sessions`] | 256 | sessions without a request or a stream rest |
//! | [`HttpConfig::idle_time`] | 5 minutes | the session ends |
//! | [`HttpConfig::resume_time`] | 30 seconds | the call of a client that is gone is cancelled |
//! | [`McpServer::question_timeout`] | 15 minutes | the question is an error of its tool |
//! | [`McpServer::state_lifetime`] | 15 minutes | the question is asked again |
//! | [`McpServer::task_lifetime`] | 1 hour | the task fails |
//! | [`McpServer::max_tasks`] | 10,000 | the task that ended first is removed; without one, the JSON-RPC error -32000 |
//! | [`McpServer::max_tasks_per_caller`] | 1000 | as above, of the tasks of one [`Identity`] |
//! | [`McpServer::max_task_bytes`] | 64 MiB | the tasks that ended first are removed |
//! | subscriptions of a session | 4096 URIs of 4 KiB | the JSON-RPC error -32602 |
//! | subscriptions of all clients | 32 MiB | the JSON-RPC error -32602 |
//! | description of a client, in `initialize` | 8 KiB without icons | the JSON-RPC error -32602 |
//! | [`McpServer::shutdown_time`] | 30 seconds | calls that run when the server ends are cancelled |
//!
//! # Several processes
//!
//! From revision 2026-07-28 on, each request stands alone, and any process with the same [key](McpServer::key) answers it. Up to
//! 2025-11-25, a session lives in one process, unless there is a [store](HttpConfig::session_store).
//!
//! | shared by | what |
//! | --- | --- |
//! | [`McpServer::key`] | the ids of sessions, states of calls, ids of events |
//! | [`McpServer::used_states`] | the used states, each of which is accepted once; without it, once per process |
//! | [`HttpConfig::session_store`] | the sessions, which any process continues |
//! | [`HttpConfig::event_store`] | the events, after which any process resumes a stream |
//! | `HttpConfig::cluster` (feature `postgres`) | all of these; tasks; the limits of sessions, of tasks and of the calls of a caller; of a session, all that its client set, asked for or answered |
//!
//! Without a cluster, a load balancer sends all requests with the same header `Mcp-Session-Id` to one process, or tools ask questions from 2026-07-28 on
//! only; a session that is deleted ends in the processes that serve it when it is idle.
//!
//! [`Registry`]: tool_runtime::Registry
//! [`Executor`]: tool_runtime::Executor
//! [`Toolbox`]: tool_runtime::Toolbox

mod announce;
mod approval;
mod call;
mod caller;
mod clients;
mod diagnostics;
mod error;
mod handler;
#[cfg(feature = "http")]
mod http;
mod listed_tools;
mod offer;
mod offer_requests;
mod plain_call;
mod question_round;
mod reports;
mod request_run;
mod requests;
mod running_requests;
mod seal;
mod server_state;
mod session_state;
mod settings;
mod stdio;
mod stream_transport;
mod task_requests;
mod tasks;
mod tools;

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use rmcp::{model::Implementation, service::ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tool_runtime::CancellationToken;

#[cfg(feature = "postgres")]
pub use self::http::{Cluster, ClusterError, ClusterOptions};
#[cfg(feature = "http")]
pub use self::http::{
    HttpConfig, HttpServer, Identity, RequestHeaders, ResourceServer, TokenError, TokenValidator,
};
pub use self::{
    caller::{Answer, Caller, Elicitation, Roots, Sampling},
    error::ServeError,
    offer::{
        ChangeListener, ChangeSignal, Completing, OfferChange, Page, Paging, PromptSet, Prompts, ResourceSet,
        Resources, TemplateError,
    },
    seal::UsedStates,
    tools::ServedTools,
};
use self::{
    clients::ClientDescriptionCache,
    handler::RequestHandler,
    listed_tools::ListedTools,
    offer::{PromptSources, ResourceSources},
    running_requests::RunningRequests,
    seal::Seals,
    server_state::ServerState,
    session_state::SessionState,
    stream_transport::StreamTransport,
    tasks::{TaskLimits, Tasks},
};

/// The largest request, in bytes: 4 MiB.
pub const MAX_REQUEST: usize = 4 * 1024 * 1024;

/// Serves `tools` to the client that started the program, over the standard streams, until it closes them.
///
/// On Unix, the standard streams are of the protocol alone: what the program prints goes to the standard error, and its standard
/// input, which the processes that it starts inherit, is empty.
///
/// # Errors
///
/// If the streams cannot be used, or the client does not speak the protocol.
pub async fn serve_stdio(tools: impl Into<ServedTools>) -> Result<(), ServeError> {
    McpServer::new(tools).serve_stdio().await
}

/// A server of tools: see [`serve_stdio`](Self::serve_stdio) and [`serve`](Self::serve).
///
/// # Examples
///
/// ```
/// use tool_mcp::server::McpServer;
/// use tool_runtime::prelude::*;
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let tools = Registry::builder().tool::<add>().build()?;
/// let server = McpServer::new(tools)
///     .named(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
///     .instructions("Adds numbers.");
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a server does nothing until it serves"]
pub struct McpServer {
    tools: ServedTools,
    resources: Vec<Arc<dyn Resources>>,
    prompts: Vec<Arc<dyn Prompts>>,
    implementation: Implementation,
    instructions: Option<String>,
    page_size: usize,
    max_request: usize,
    max_calls: usize,
    max_calls_per_caller: usize,
    shutdown_time: Duration,
    key: Option<[u8; 32]>,
    used_states: Option<Arc<dyn UsedStates>>,
    question_timeout: Duration,
    state_lifetime: Duration,
    task_lifetime: Duration,
    task_limits: TaskLimits,
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("implementation", &self.implementation)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

impl McpServer {
    /// Creates a server of `tools`, named after the program's file.
    pub fn new(tools: impl Into<ServedTools>) -> Self {
        let program = std::env::current_exe().ok();
        let name = program
            .as_deref()
            .and_then(|path| path.file_stem())
            .map(|name| name.to_string_lossy().into_owned());
        let (tools, name) = (tools.into(), name.unwrap_or_else(|| "tools".to_owned()));
        let version = tools.package_version(&name).unwrap_or("0.0.0");
        Self {
            implementation: Implementation::new(name, version),
            tools,
            resources: Vec::new(),
            prompts: Vec::new(),
            instructions: None,
            page_size: 1_000,
            max_request: MAX_REQUEST,
            max_calls: 4_096,
            max_calls_per_caller: 1_024,
            shutdown_time: Duration::from_secs(30),
            key: None,
            used_states: None,
            question_timeout: Duration::from_secs(15 * 60),
            state_lifetime: Duration::from_secs(15 * 60),
            task_lifetime: Duration::from_secs(60 * 60),
            task_limits: TaskLimits {
                max_tasks: 10_000,
                max_tasks_per_caller: 1_000,
                max_result_bytes: 64 * 1024 * 1024,
            },
        }
    }

    /// Sets the name and the version of the server. Default: the name of the program's file, and the version of the package of that name
    /// that has tools with `#[tool]`, or else of the only package that has; `0.0.0` without one, as for a
    /// [`Toolbox`](tool_runtime::Toolbox).
    pub fn named(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.implementation.name = name.into();
        self.implementation.version = version.into();
        self
    }

    /// Sets the name of the server, and the version of the package of that name.
    #[cfg(feature = "cli")]
    pub(crate) fn named_after(mut self, program: &str) -> Self {
        let version = self.tools.package_version(program);
        self.implementation.name = program.to_owned();
        self.implementation.version = version.unwrap_or("0.0.0").to_owned();
        self
    }

    /// Sets a closure that receives diagnostics: of tools that the server should have and does not, since their set cannot be listed, their
    /// name is taken, or their visibility panicked, of rules that apply to no tool, and of prompts and resources that a list lacks. Each is
    /// passed once, and again if it was over for a minute. They are logged, too. Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_mcp::server::McpServer;
    /// use tool_runtime::Toolbox;
    ///
    /// let server = McpServer::new(Toolbox::new()).on_diagnostic(|diagnostic| eprintln!("{diagnostic}"));
    /// ```
    pub fn on_diagnostic(
        mut self,
        listener: impl Fn(&tool_runtime::diagnostic::Diagnostic) + Send + Sync + 'static,
    ) -> Self {
        self.tools.diagnostics.set_listener(Arc::new(listener));
        self
    }

    /// Sets the tools, in the place of those that the server has, for a server that another part of the program created, as the command
    /// `serve` does.
    pub fn tools(mut self, tools: impl Into<ServedTools>) -> Self {
        let diagnostics = self.tools.diagnostics;
        self.tools = tools.into();
        self.tools.diagnostics = diagnostics;
        self
    }

    /// Sets the name for people.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.implementation.title = Some(title.into());
        self
    }

    /// Sets the instructions for the model that uses the server. Default: none.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Serves the client that started the program, as [`serve_stdio`](fn@serve_stdio) does.
    ///
    /// # Errors
    ///
    /// If the streams cannot be used, or the client does not speak the protocol.
    pub async fn serve_stdio(self) -> Result<(), ServeError> {
        let (read, write) = stdio::take_standard_streams().map_err(ServeError::Streams)?;
        self.serve(read, write, CancellationToken::new()).await
    }

    /// Serves one client over a pair of streams, until it closes them or `stop` is cancelled. Calls that run then are answered,
    /// for up to [`shutdown_time`](Self::shutdown_time); of a client that closed the streams, for 5 seconds.
    ///
    /// A line of more than [`max_request`](Self::max_request) bytes is dropped, and logged.
    ///
    /// # Errors
    ///
    /// If the client does not speak the protocol.
    pub async fn serve(
        self,
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
        stop: CancellationToken,
    ) -> Result<(), ServeError> {
        let max_request = self.max_request;
        let shared = self.into_server_state()?;
        let read = stdio::StoppableReader::new(read, stop, Arc::clone(&shared));
        let transport = StreamTransport::new(read, write, max_request);
        let state = Arc::new(SessionState::new(&shared));
        match rmcp::service::serve_server(RequestHandler::new(shared, state), transport).await {
            Ok(service) => {
                service.waiting().await.map_err(|error| ServeError::Panicked(error.to_string()))?;
                Ok(())
            }
            // A client that leaves before it said anything wanted nothing.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
            Err(error) => Err(ServeError::Protocol(Box::new(error))),
        }
    }

    fn into_server_state(self) -> Result<Arc<ServerState>, ServeError> {
        let key = match self.key {
            Some(key) => key,
            None => seal::random_key().map_err(ServeError::Key)?,
        };
        let tools = self.tools.with_default_approver().map_err(ServeError::Tools)?;
        tools.report_fixed_diagnostics();
        let listed = tools.fixed_tools().map(ListedTools::new).unwrap_or_default();
        Ok(Arc::new(ServerState {
            listed: Mutex::new(Arc::new(listed)),
            tools,
            resources: ResourceSources::joined(self.resources),
            prompts: PromptSources::joined(self.prompts),
            implementation: self.implementation,
            instructions: self.instructions,
            page_size: self.page_size,
            seals: Seals::new(&key, self.state_lifetime, self.used_states),
            running: RunningRequests::new(self.max_calls, self.max_calls_per_caller),
            tasks: Tasks::new(self.task_lifetime, self.task_limits),
            clients: ClientDescriptionCache::default(),
            subscribed_bytes: announce::SubscribedBytes::default(),
            #[cfg(feature = "http")]
            announces_to_streams: false.into(),
            #[cfg(feature = "postgres")]
            cluster: std::sync::OnceLock::new(),
            shutdown_time: self.shutdown_time,
            question_timeout: self.question_timeout,
            stopping: CancellationToken::new(),
        }))
    }
}
