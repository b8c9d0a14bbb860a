//! MCP servers that come and go: by URL, and by `mcpServers` file.

use std::{fmt, sync::Arc};

use tool_mcp::client::{Endpoint, McpServers, McpToolSet, McpToolSetBuilder, ServerConfig, Transport};
use tool_runtime::{BoxFuture, ToolError, policy::Escape};

use super::McpConnector;
use crate::catalogue::{Catalogue, Connector, ConnectorFactory, ConnectorSource};

/// The characters of a URL in the name of a server.
const MAX_NAME_CHARS: usize = 100;

type MakeBuilder = dyn Fn(ServerConfig) -> McpToolSetBuilder + Send + Sync;

/// An MCP server, for [`Catalogue::add_source`]. Each connection is an [`McpConnector`] of its own.
///
/// # Examples
///
/// ```
/// use tool_kit::{catalogue::Catalogue, mcp::McpSource};
/// use tool_mcp::client::{McpToolSet, Process, ServerConfig};
///
/// # fn main() -> anyhow::Result<()> {
/// let files = ServerConfig::new("files", Process::new("files-server"));
/// let catalogue = Catalogue::new();
/// catalogue.add_source("files", McpSource::with(files, |config| McpToolSet::builder(config).exclude(["delete"])))?;
/// assert_eq!(catalogue.connectors()[0].state.to_string(), "queued");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpSource {
    config: ServerConfig,
    make: Arc<MakeBuilder>,
}

/// Makes the connectors of the URLs of MCP servers, for [`Catalogue::with_connector_factory`].
///
/// # Examples
///
/// ```
/// use tool_kit::{catalogue::Catalogue, mcp::McpConnectorFactory};
///
/// # fn main() -> anyhow::Result<()> {
/// let catalogue = Catalogue::new().with_connector_factory(McpConnectorFactory::new());
/// catalogue.add_server("https://example.com/mcp")?;
/// catalogue.add_server_as("docs", "https://docs.example.com/mcp")?;
/// let keys: Vec<_> = catalogue.connectors().into_iter().map(|connector| connector.key).collect();
/// assert_eq!(keys, ["https://example.com/mcp", "https://docs.example.com/mcp"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpConnectorFactory {
    make: Arc<MakeBuilder>,
}

impl McpSource {
    /// Creates the source of a server whose tools are [untrusted](McpToolSetBuilder::untrusted), and which has default settings otherwise.
    #[must_use]
    pub fn new(config: ServerConfig) -> Self {
        Self::with(config, untrusted_builder)
    }

    /// Creates the source of a server whose connections have the settings of `make`: filters, pins, answers to questions, headers. It is called for
    /// each connection.
    pub fn with(
        config: ServerConfig,
        make: impl Fn(ServerConfig) -> McpToolSetBuilder + Send + Sync + 'static,
    ) -> Self {
        Self { config, make: Arc::new(make) }
    }
}

impl ConnectorSource for McpSource {
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Connector>, ToolError>> {
        Box::pin(async {
            let connector =
                McpConnector::connect_with_reported_namespace((self.make)(self.config.clone())).await?;
            Ok(Arc::new(connector) as Arc<dyn Connector>)
        })
    }
}

impl McpConnectorFactory {
    /// Creates a factory of servers as those of [`McpSource::new`].
    #[must_use]
    pub fn new() -> Self {
        Self::with(untrusted_builder)
    }

    /// Creates a factory of servers whose connections have the settings of `make`, as those of [`McpSource::with`]. The name of the configuration is
    /// the URL without the parts that may be secret.
    pub fn with(make: impl Fn(ServerConfig) -> McpToolSetBuilder + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make) }
    }
}

impl Default for McpConnectorFactory {
    fn default() -> Self {
        Self::new()
    }
}

impl ConnectorFactory for McpConnectorFactory {
    fn create_connector(&self, url: &str) -> Result<Option<Arc<dyn ConnectorSource>>, ToolError> {
        let public = url.split(['?', '#']).next().unwrap_or_default();
        let host_and_path = public.split_once("://").map_or(public, |(_, rest)| rest);
        let host_and_path = host_and_path.rsplit_once('@').map_or(host_and_path, |(_, rest)| rest);
        let name = Escape::LINE.at_most(MAX_NAME_CHARS).text(host_and_path);
        let config = ServerConfig::new(name, Endpoint::new(url));
        config.validate().map_err(|error| ToolError::bad_parameter(error.to_string()))?;
        Ok(Some(Arc::new(McpSource { config, make: Arc::clone(&self.make) })))
    }
}

fn untrusted_builder(config: ServerConfig) -> McpToolSetBuilder {
    McpToolSet::builder(config).untrusted()
}

impl Catalogue {
    /// Adds the servers of an `mcpServers` file that are not disabled, each under its name in the file, and returns those that cannot be added, with
    /// the reason. The [run](Self::run) of the catalogue connects them. One with a URL is removed by its URL, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_kit::catalogue::Catalogue;
    /// use tool_mcp::client::McpServers;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let servers = McpServers::parse(r#"{ "mcpServers": {
    ///     "files": { "command": "files-server" },
    ///     "docs": { "url": "https://docs.example.com/mcp" },
    ///     "user": { "command": "reserved" }
    /// } }"#)?;
    /// let catalogue = Catalogue::new();
    /// let problems = catalogue.add_mcp_servers(&servers);
    /// assert_eq!((problems.len(), &*problems[0].0), (1, "user"));
    /// let keys: Vec<_> = catalogue.connectors().into_iter().map(|connector| connector.key).collect();
    /// assert_eq!(keys, ["files", "https://docs.example.com/mcp"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_mcp_servers(&self, servers: &McpServers) -> Vec<(String, ToolError)> {
        let add = |name: &str| {
            let config = servers.config(name).map_err(|error| ToolError::bad_parameter(error.to_string()))?;
            let url = match &config.transport {
                Transport::Http(endpoint) | Transport::Sse(endpoint) => Some(endpoint.url.clone()),
                _ => None,
            };
            self.add_source_at(name, url.as_deref(), McpSource::new(config))
        };
        let names = servers.names();
        names.filter_map(|name| add(name).err().map(|error| (name.to_owned(), error))).collect()
    }
}

impl fmt::Debug for McpSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpSource").field("config", &self.config).finish_non_exhaustive()
    }
}

impl fmt::Debug for McpConnectorFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("McpConnectorFactory")
    }
}
