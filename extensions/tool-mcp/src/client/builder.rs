//! Making a toolset.

use std::{future::Future, io, sync::Arc};

use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, LoggingLevel,
    ProtocolVersion, Root,
};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tool_runtime::{ToolContext, ToolError, pin::Pins};

use super::{
    announcements::{AnnouncedChanges, ChangeListener},
    call::{CallMeta, ToolCaller},
    config::ServerConfig,
    connector::{Connector, StreamOpener, StreamPair},
    definitions::DefinitionReader,
    error::ClientError,
    handler::{Question, QuestionHandlers, ServerChange},
    notices::Notices,
    pins::{CurrentPins, PinnedDefinitions},
    questions::QuestionLimiter,
    requests::RequestSender,
    set::McpToolSet,
    shared_connection::SharedConnection,
};

/// A toolset before it connects; created by [`McpToolSet::builder`].
///
/// # Examples
///
/// ```no_run
/// use rmcp::model::{ElicitResult, ElicitationAction};
/// use tool_mcp::{client::{McpToolSet, Process, ServerConfig}, rmcp};
///
/// # async fn example() -> anyhow::Result<()> {
/// let files = McpToolSet::builder(ServerConfig::new("files", Process::new("files-server")))
///     .include(["read", "list"])
///     .on_elicitation(|question| async move {
///         println!("{}: {:?}", question.server, question.params);
///         Ok(ElicitResult::new(ElicitationAction::Decline))
///     })
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct McpToolSetBuilder {
    config: ServerConfig,
    definitions: DefinitionReader,
    answers: QuestionHandlers,
    listener: Option<Box<ChangeListener>>,
    open: Option<Arc<StreamOpener>>,
    protocol: Option<ProtocolVersion>,
    meta: Option<Arc<CallMeta>>,
    pins: Option<Pins>,
    pins_warn: bool,
    log_level: Option<LoggingLevel>,
    #[cfg(feature = "http")]
    headers: Option<Arc<super::headers::HeaderProvider>>,
    #[cfg(feature = "auth")]
    oauth: Option<super::OAuth>,
}

impl McpToolSet {
    /// Connects to a server and lists its tools.
    ///
    /// # Errors
    ///
    /// If the server cannot be started or reached, does not speak the protocol, or does not answer in time. The error names
    /// the server.
    pub async fn connect(config: ServerConfig) -> Result<Self, ClientError> {
        Self::builder(config).connect().await
    }

    /// Creates the toolset of a server that is connected to when it is first listed or called.
    #[must_use]
    pub fn lazy(config: ServerConfig) -> Self {
        Self::builder(config).lazy()
    }

    /// Creates a builder, for filters, answers to the server's questions, and headers of requests.
    pub fn builder(config: ServerConfig) -> McpToolSetBuilder {
        McpToolSetBuilder::new(config)
    }
}

impl McpToolSetBuilder {
    fn new(config: ServerConfig) -> Self {
        Self {
            config,
            definitions: DefinitionReader::default(),
            answers: QuestionHandlers::default(),
            listener: None,
            open: None,
            protocol: None,
            meta: None,
            pins: None,
            pins_warn: false,
            log_level: None,
            #[cfg(feature = "http")]
            headers: None,
            #[cfg(feature = "auth")]
            oauth: None,
        }
    }

    /// Keeps the tools with these names at the server. Default: all tools.
    pub fn include<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.definitions.include.get_or_insert_default().extend(names.into_iter().map(Into::into));
        self
    }

    /// Leaves out the tools with these names at the server. Default: none.
    pub fn exclude<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.definitions.exclude.extend(names.into_iter().map(Into::into));
        self
    }

    /// Reads missing hints as the protocol does: a tool is destructive unless it claims to be read-only, and interacts with
    /// external systems unless it denies it ([`Metadata::conservative`]). Default: a missing hint stays missing.
    ///
    /// [`Metadata::conservative`]: tool_runtime::definition::Metadata::conservative
    pub fn conservative(mut self) -> Self {
        self.definitions.conservative = true;
        self
    }

    /// Gives the tools the [trust level](tool_runtime::definition::Metadata::trust) `untrusted`, so that a
    /// [`Sanitizer`](tool_runtime::hook::Sanitizer) marks their results. A part of the definition, which [pins](Self::pins) have. Default: none.
    pub fn untrusted(mut self) -> Self {
        self.definitions.untrusted = true;
        self
    }

    /// Speaks only this revision of the protocol. Default: 2026-07-28 if the server speaks it, and otherwise what the
    /// server offers by `initialize`.
    pub fn protocol(mut self, version: ProtocolVersion) -> Self {
        self.protocol = Some(version);
        self
    }

    /// Answers questions to the user. Default: the server learns that there is no user.
    ///
    /// A server can ask 20 questions during a call, of which 4 are answered at once, and none outside of calls: see
    /// [`ServerLimits`](super::ServerLimits).
    pub fn on_elicitation<F>(
        mut self,
        answer: impl Fn(Question<ElicitRequestParams>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ElicitResult, ToolError>> + Send + 'static,
    {
        self.answers.elicitation = Some(super::handler::question_handler(answer));
        self
    }

    /// Answers questions to a model. Default: the server learns that there is no model. The limits are those of
    /// [`on_elicitation`](Self::on_elicitation).
    pub fn on_sampling<F>(
        mut self,
        answer: impl Fn(Question<CreateMessageRequestParams>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<CreateMessageResult, ToolError>> + Send + 'static,
    {
        self.answers.sampling = Some(super::handler::question_handler(answer));
        self
    }

    /// Returns the folders that the program works in. Default: the server learns that there are none.
    pub fn on_roots<F>(mut self, answer: impl Fn(Question<()>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<Root>, ToolError>> + Send + 'static,
    {
        self.answers.roots = Some(super::handler::question_handler(answer));
        self
    }

    /// Receives the changes that the server announces. Its tools are listed again without this.
    pub fn on_change(mut self, listener: impl Fn(ServerChange) + Send + Sync + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Sets the definitions that a person has reviewed, from a file that was made by [`McpToolSet::current_pins`]. A tool that
    /// differs from its pin, or has none, is neither listed nor called until [`McpToolSet::set_pins`] renews its pin; before a
    /// call, the tools are listed again if the server announced a change of them. Default: no pins.
    pub fn pins(mut self, pins: Pins) -> Self {
        self.pins = Some(pins);
        self
    }

    /// Reports tools that differ from their pins, and uses them all the same.
    pub fn pins_warn(mut self) -> Self {
        self.pins_warn = true;
        self
    }

    /// Asks for log messages of this severity and above with each call, from revision 2026-07-28 on. Default: the server
    /// sends none. See [`McpToolSet::set_log_level`] for earlier revisions.
    ///
    /// A message goes to the log of the call that it belongs to, if that is known, and otherwise to `tracing` (target
    /// `tool_mcp::server_log`).
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Adds metadata (`_meta`) to each call. Default: the trace of the call, with the feature `opentelemetry`.
    pub fn call_meta(
        mut self,
        meta: impl Fn(&ToolContext) -> Map<String, Value> + Send + Sync + 'static,
    ) -> Self {
        self.meta = Some(Arc::new(meta));
        self
    }

    /// Adds headers to each HTTP request, which replace configured ones; for instance the credentials of the user of a run.
    /// An error aborts the request.
    ///
    /// The headers for connecting are also those of the requests that the transport makes by itself, such as the one that
    /// ends a session.
    #[cfg(feature = "http")]
    pub fn headers(
        mut self,
        provide: impl for<'a> Fn(
            super::HeaderRequest<'a>,
        ) -> tool_runtime::BoxFuture<'a, Result<http::HeaderMap, ToolError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.headers = Some(Arc::new(provide));
        self
    }

    /// Authorizes the program at the server when it requires that, over streamable HTTP. Default: such a server is an error.
    #[cfg(feature = "auth")]
    pub fn oauth(mut self, oauth: super::OAuth) -> Self {
        self.oauth = Some(oauth);
        self
    }

    /// Connects over the streams that `open` returns, for each connection anew, in place of the configured transport.
    pub fn over<R, W, F>(mut self, open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
        F: Future<Output = io::Result<(R, W)>> + Send + 'static,
    {
        self.open = Some(Arc::new(move || {
            let opened = open();
            Box::pin(async move {
                let (read, write) = opened.await?;
                let streams: StreamPair = (Box::new(read), Box::new(write));
                Ok(streams)
            })
        }));
        self
    }

    /// Connects to the server and lists its tools.
    ///
    /// # Errors
    ///
    /// As [`McpToolSet::connect`].
    pub async fn connect(self) -> Result<McpToolSet, ClientError> {
        let set = self.lazy();
        set.refresh().await?;
        Ok(set)
    }

    /// Creates the toolset without connecting.
    #[must_use]
    pub fn lazy(self) -> McpToolSet {
        let config = Arc::new(self.config);
        let name: Arc<str> = config.name.as_str().into();
        let notices = Arc::new(Notices::new(Arc::clone(&name)));
        let connector = Connector {
            open: self.open,
            protocol: self.protocol,
            answers: self.answers,
            changes: Arc::new(AnnouncedChanges::new(self.listener)),
            questions: Arc::new(QuestionLimiter::new(config.limits, Arc::clone(&notices))),
            notices,
            #[cfg(feature = "http")]
            headers: super::headers::HeaderSource::new(Arc::clone(&name), self.headers),
            #[cfg(feature = "auth")]
            authorized: self.oauth.map(|oauth| Arc::new(super::oauth::ServerAuthorization::new(oauth))),
            name,
            config,
        };
        McpToolSet::new(ToolCaller {
            requests: RequestSender { connection: SharedConnection::new(connector) },
            definitions: self.definitions,
            pins: CurrentPins::new(self.pins.map(|pins| PinnedDefinitions::new(pins, self.pins_warn))),
            log_level: self.log_level,
            call_meta: self.meta,
        })
    }
}
