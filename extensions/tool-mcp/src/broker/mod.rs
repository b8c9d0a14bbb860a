//! Many servers behind four tools.
//!
//! A model that is given all tools of all servers reads all of their schemas with each request. [`McpBroker`] shows four
//! tools instead, by which a model finds out what it needs when it needs it:
//!
//! | tool | arguments | result |
//! | --- | --- | --- |
//! | `mcp_list_servers` | none | names, transports and descriptions of the servers |
//! | `mcp_list_tools` | `selector` | names, signatures and descriptions of the tools of a server |
//! | `mcp_inspect_tools` | `selector`, `tools`, optional `include_output_schema` | schemas of the arguments of some of these tools, and of their results if `include_output_schema` is `true` |
//! | `mcp_call` | `selector`, `arguments` | the result of a tool |
//!
//! With [`allow_urls`](McpBrokerBuilder::allow_urls), the last three have two optional arguments more, for a server that is
//! selected by URL: `transport` (`http` by default, or `sse`), and `headers`, an object of HTTP headers without credentials.
//!
//! # Selectors
//!
//! A server is selected by its name or URL, and a tool by `server.tool`, `url.tool`, `server#tool=tool` or `url#tool=tool`.
//! The longest name of a server wins, and a URL is split at the first dot of the last segment of its path. The selectors of
//! tools that the broker prints always select that tool.
//!
//! # Broker or toolset
//!
//! | | broker | [`McpToolSet`](crate::client::McpToolSet) |
//! | --- | --- | --- |
//! | tools that the model sees | 4 | all |
//! | requests of the model for one call | 2 to 4 | 1 |
//! | arguments | checked by the server, except for missing ones | validated before the call |
//! | hints of the tools | unknown to policies: each call is `mcp_call` | known |
//! | connection | one for each operation | one for all |
//!
//! Take a broker for many servers of which a task needs few tools, and a toolset for tools that are used often. Both can be
//! used together. The broker adds nothing to the instructions of the model.
//!
//! # Security
//!
//! - A model that chooses URLs ([`allow_urls`](McpBrokerBuilder::allow_urls), off by default) can reach whatever this program
//!   can reach, such as services of the local network: no URL is blocked here. Block them by
//!   [`client_options`](McpBrokerBuilder::client_options), and ask a person before a call, by rules for `mcp_call`.
//! - Texts of servers (names, descriptions, schemas, results) are read by the model, and may try to instruct it.
//! - Hints of a tool are claims of its server; none of them becomes a hint of `mcp_call`.
//!   [`conservative`](McpToolSetBuilder::conservative) has no effect, therefore.
//! - [`include`](McpToolSetBuilder::include), [`exclude`](McpToolSetBuilder::exclude) and [`pins`](McpToolSetBuilder::pins),
//!   set by `client_options`, hold for all operations: a tool that they leave out is neither listed, nor inspected, nor called.
//!
//! # Diagnostics
//!
//! Tools that are left out, and servers whose tools could not be listed, are logged as warnings when that begins, and are
//! [`McpBroker::diagnostics`] until the next operation on their server.

mod diagnostics;
mod hooks;
mod operations;
mod selector;
mod signature;
mod tools;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use tool_runtime::{BoxFuture, Tool, ToolError, ToolSet, context::ReadonlyContext, diagnostic::Diagnostic};

pub use self::hooks::{BrokerPhase, BrokerTarget, Interception};
use self::{diagnostics::ListingDiagnostics, hooks::BrokerHooks, tools::BrokerTool};
use crate::client::{ConfigError, McpServers, McpToolSetBuilder, ServerConfig};

/// Four tools for the tools of many servers; see [the module](self).
///
/// # Examples
///
/// ```
/// use tool_mcp::{broker::McpBroker, client::{Endpoint, Process, ServerConfig}};
/// use tool_runtime::Toolbox;
///
/// let broker = McpBroker::builder()
///     .server(ServerConfig::new("files", Process::new("files-server")).description("Files of the project."))
///     .server(ServerConfig::new("search", Endpoint::new("https://example.com/mcp")))
///     .build()?;
/// Toolbox::new().add_toolset(broker)?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct McpBroker {
    tools: Vec<Arc<dyn Tool>>,
    settings: Arc<BrokerSettings>,
}

/// The settings that the tools share.
struct BrokerSettings {
    servers: BTreeMap<String, ServerConfig>,
    allows_urls: bool,
    /// In lower case.
    refused_headers: Vec<String>,
    time_limit: Option<Duration>,
    hooks: BrokerHooks,
    diagnostics: ListingDiagnostics,
}

/// The headers that a model never sets.
const REFUSED_HEADERS: [&str; 14] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "set-cookie",
    "x-api-key",
    // Of the connection, and of the host that a filter of URLs has seen.
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl McpBroker {
    /// Creates a builder.
    pub fn builder() -> McpBrokerBuilder {
        let refused_headers = REFUSED_HEADERS.map(str::to_owned).to_vec();
        let settings = BrokerSettings {
            servers: BTreeMap::new(),
            allows_urls: false,
            refused_headers,
            time_limit: None,
            hooks: BrokerHooks::default(),
            diagnostics: ListingDiagnostics::default(),
        };
        McpBrokerBuilder { settings, error: None }
    }

    /// Returns the four tools.
    #[must_use]
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// Returns the diagnostics of the last operation on each named server that has any, by the name of the server: those of
    /// [`McpToolSet::diagnostics`](crate::client::McpToolSet::diagnostics) about single tools, but for `duplicate`, `renamed`
    /// and `hidden_text`, and the warning `not_listed` for a server whose tools could not be listed.
    #[must_use]
    pub fn diagnostics(&self) -> BTreeMap<String, Vec<Diagnostic>> {
        self.settings.diagnostics.all()
    }
}

impl ToolSet for McpBroker {
    fn name(&self) -> &str {
        "mcp"
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(std::future::ready(Ok(self.tools.clone())))
    }
}

impl fmt::Debug for McpBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpBroker").finish_non_exhaustive()
    }
}

/// A broker before it is built; created by [`McpBroker::builder`].
#[must_use = "a builder does nothing until it is built"]
pub struct McpBrokerBuilder {
    settings: BrokerSettings,
    error: Option<ConfigError>,
}

impl McpBrokerBuilder {
    /// Adds a server. The spaces around its name are removed.
    pub fn server(mut self, mut config: ServerConfig) -> Self {
        config.name = config.name.trim().to_owned();
        let checked =
            config.validate().and_then(|()| match self.settings.servers.contains_key(&config.name) {
                true => Err(ConfigError::new(&config.name, "there are two servers of this name")),
                false => Ok(()),
            });
        match checked {
            Ok(()) => drop(self.settings.servers.insert(config.name.clone(), config)),
            Err(error) => drop(self.error.get_or_insert(error)),
        }
        self
    }

    /// Adds the servers of a file that are not disabled.
    pub fn servers(mut self, servers: &McpServers) -> Self {
        for name in servers.names() {
            match servers.config(name) {
                Ok(config) => self = self.server(config),
                Err(error) => drop(self.error.get_or_insert(error)),
            }
        }
        self
    }

    /// Lets the model select servers by URL, with headers of its choice. Default: off. See [the module](self#security) for
    /// the risks.
    pub fn allow_urls(mut self) -> Self {
        self.settings.allows_urls = true;
        self
    }

    /// Refuses further headers of the model, in addition to `Authorization`, `Cookie`, `Proxy-Authorization`, `Set-Cookie`,
    /// `X-API-Key`, `Host`, and those of the connection, such as `Content-Length`.
    pub fn refuse_headers<N: AsRef<str>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.settings
            .refused_headers
            .extend(names.into_iter().map(|name| name.as_ref().trim().to_ascii_lowercase()));
        self
    }

    /// Sets the time for one operation on a server that the model selects by URL. Default: none beside the timeout of each
    /// request.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = Some(limit);
        self
    }

    /// Adds headers to the requests of an operation on a server behind a URL, for instance credentials of the run's user.
    /// They replace headers of the configuration and of the model, regardless of case. `None` adds nothing, and an error
    /// ends the operation.
    #[cfg(feature = "http")]
    pub fn headers(
        mut self,
        provide: impl for<'a> Fn(
            &'a BrokerTarget<'a>,
        ) -> BoxFuture<'a, Result<Option<http::HeaderMap>, ToolError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.settings.hooks.headers = Some(Box::new(provide));
        self
    }

    /// Handles errors of operations on servers behind a URL.
    pub fn on_error(
        mut self,
        intercept: impl Fn(&BrokerTarget<'_>, &crate::client::ClientError) -> Interception + Send + Sync + 'static,
    ) -> Self {
        self.settings.hooks.errors = Some(Box::new(intercept));
        self
    }

    /// Adds options to the connection of an operation, or refuses it by an error, before anything is connected.
    pub fn client_options(
        mut self,
        options: impl Fn(&BrokerTarget<'_>, McpToolSetBuilder) -> Result<McpToolSetBuilder, ToolError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.settings.hooks.options = Some(Box::new(options));
        self
    }

    /// Builds the broker. Connects to nothing.
    ///
    /// # Errors
    ///
    /// If the configuration of a server is invalid, or two have the same name.
    pub fn build(self) -> Result<McpBroker, ConfigError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let settings = Arc::new(self.settings);
        let tools = BrokerTool::create_broker_tools(&settings)?;
        let tools = tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect();
        Ok(McpBroker { tools, settings })
    }
}
