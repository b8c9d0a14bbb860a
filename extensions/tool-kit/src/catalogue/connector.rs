//! Connectors: the namespaces of a catalogue beside `builtin`.

use std::{fmt, sync::Arc};

use tool_runtime::{BoxFuture, RunContext, ToolError, ToolSet, diagnostic::Diagnostic};

use super::CatalogueChange;
use crate::{prompt::Prompt, resource::ReadableResource};

/// The items of one namespace of a [`Catalogue`](super::Catalogue): those of a program, or of one connection to a server, which a
/// [source](super::ConnectorSource) makes. Servers of the Model Context Protocol are ready-made ones (`mcp::McpConnector`, feature `mcp`).
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::{catalogue::{Catalogue, Connector}, resource::{ReadableResource, StoredResource}};
/// use tool_runtime::{BoxFuture, RunContext, ToolError};
///
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
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let catalogue = Catalogue::new();
/// catalogue.connect(Library)?;
/// let snapshot = catalogue.snapshot(&Arc::new(RunContext::new())).await?;
/// assert_eq!(snapshot.lookup("text:hours")?.key(), "text:hours#library");
/// # Ok(())
/// # }
/// ```
pub trait Connector: Send + Sync + 'static {
    /// Returns the namespace, an identifier. For a connection of a [source](super::ConnectorSource), the name that the server reports, whatever it
    /// is.
    fn namespace(&self) -> &str;

    /// Returns the tools, in a set that has the name of the namespace; for a connection of a source, any name. Read once, when the connector is
    /// added. Default: none.
    fn toolset(&self) -> Option<Arc<dyn ToolSet>> {
        None
    }

    /// Lists the prompts. Called for each snapshot: keep the list of a server, and list it again after a change. Default: none.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be listed; the snapshot has it as a diagnostic.
    fn prompts<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        let _ = run;
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Lists the resources; as [`prompts`](Self::prompts). Default: none.
    ///
    /// # Errors
    ///
    /// As [`prompts`](Self::prompts).
    fn resources<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn ReadableResource>>, ToolError>> {
        let _ = run;
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Returns the diagnostics of the last lists, such as items that were left out; the snapshot adds the namespace to each. Called for each
    /// snapshot, after all lists. Default: none.
    fn diagnostics(&self) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Called with a notifier each time the connector is added to a catalogue. Default: ignores it.
    fn attached(&self, notifier: ConnectorNotifier) {
        let _ = notifier;
    }

    /// Waits for the end of the connection, and returns its reason. A [running](super::Catalogue::run) catalogue takes the items out of the lists
    /// then, and connects the [source](super::ConnectorSource) again. Default: waits for ever.
    fn closed(&self) -> BoxFuture<'_, ToolError> {
        Box::pin(std::future::pending())
    }

    /// Ends the connection, and waits for its end. Called for each connection of a source, also after it was [closed](Self::closed) by the server.
    /// After 10 seconds, the future is dropped. Default: does nothing.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Announces changes of the items of a connector; passed to it by [`attached`](Connector::attached). Changes of its tools are announced by
/// its toolset.
#[derive(Clone)]
pub struct ConnectorNotifier {
    announce: Arc<dyn Fn(CatalogueChange) + Send + Sync>,
    is_attached: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl ConnectorNotifier {
    /// Creates a notifier that calls `announce` for each change; for wrappers of connectors, and for tests.
    pub fn new(announce: impl Fn(CatalogueChange) + Send + Sync + 'static) -> Self {
        Self { announce: Arc::new(announce), is_attached: Arc::new(|| true) }
    }

    /// Sets the function that returns `false` once the notifier has no effect any more. Default: it has one for ever.
    #[must_use]
    pub fn attached_while(mut self, is_attached: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.is_attached = Arc::new(is_attached);
        self
    }

    /// Announces a change. Has no effect after the connector is removed from the catalogue.
    pub fn announce(&self, change: CatalogueChange) {
        (self.announce)(change);
    }

    /// Returns `false` after the connector is removed from the catalogue: drop the notifier then.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        (self.is_attached)()
    }
}

impl fmt::Debug for ConnectorNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectorNotifier")
    }
}
