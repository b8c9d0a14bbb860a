//! Sources of connections, and the factory that makes them of URLs.

use std::sync::Arc;

use tool_runtime::{BoxFuture, ToolError};

use super::super::Connector;

/// A source of items behind a connection that a [running](super::super::Catalogue::run) catalogue makes, and makes again when it ends: a server.
/// MCP servers are ready-made ones (`mcp::McpSource`, feature `mcp`).
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::{catalogue::{Catalogue, Connector, ConnectorSource}, resource::{ReadableResource, StoredResource}};
/// use tool_runtime::{BoxFuture, CancellationToken, RunContext, ToolError};
///
/// /// One connection to the library.
/// struct Library;
///
/// impl Connector for Library {
///     fn namespace(&self) -> &str {
///         "library"
///     }
///
///     fn resources<'a>(
///         &'a self,
///         _: &'a Arc<RunContext>,
///     ) -> BoxFuture<'a, Result<Vec<Arc<dyn ReadableResource>>, ToolError>> {
///         Box::pin(async { Ok(vec![Arc::new(StoredResource::must_text("hours", "9 to 5")) as Arc<dyn ReadableResource>]) })
///     }
/// }
///
/// struct LibraryServer;
///
/// impl ConnectorSource for LibraryServer {
///     fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Connector>, ToolError>> {
///         Box::pin(async { Ok(Arc::new(Library) as Arc<dyn Connector>) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> anyhow::Result<()> {
/// let catalogue = Catalogue::new();
/// catalogue.add_source("library", LibraryServer)?;
/// let token = CancellationToken::new();
/// let work = async {
///     catalogue.wait_for_connectors().await;
///     let snapshot = catalogue.snapshot(&Arc::new(RunContext::new())).await?;
///     token.cancel();
///     anyhow::Ok(snapshot.lookup("text:hours#library")?.key().to_owned())
/// };
/// let (ended, key) = tokio::join!(catalogue.run(token.clone()), work);
/// ended?;
/// assert_eq!(key?, "text:hours#library");
/// # Ok(())
/// # }
/// ```
pub trait ConnectorSource: Send + Sync + 'static {
    /// Connects, and returns the connection, whose [namespace](Connector::namespace) is the name that the server reports. Dropping the future
    /// cancels the attempt. The source limits its own time.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no connection; the catalogue tries again.
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Connector>, ToolError>>;
}

/// Makes the sources of URLs that are added to a catalogue: see
/// [`with_connector_factory`](super::super::Catalogue::with_connector_factory). The one of MCP servers is ready-made (`mcp::McpConnectorFactory`,
/// feature `mcp`).
pub trait ConnectorFactory: Send + Sync + 'static {
    /// Creates the source of the server at `url`, as it was given to the catalogue; `None` if this factory has none for it. It does not connect.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL cannot be used; it is not added then.
    fn create_connector(&self, url: &str) -> Result<Option<Arc<dyn ConnectorSource>>, ToolError>;
}
