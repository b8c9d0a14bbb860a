//! The items of an MCP server.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tool_mcp::{
    client::{ClientError, McpToolSet, McpToolSetBuilder, ServerChange},
    rmcp::model,
};
use tool_runtime::{
    BoxFuture, RunContext, ToolError, ToolSet,
    diagnostic::{Diagnostic, Severity},
};

use super::server_items::{ServerPrompt, ServerResource};
use crate::{
    catalogue::{CatalogueChange, Connector, ConnectorNotifier},
    prompt::Prompt,
    resource::ReadableResource,
};

/// The tools, prompts and resources of an MCP server as a namespace of a [`Catalogue`](crate::catalogue::Catalogue).
///
/// The namespace is the name of the server in its configuration. Lists are kept until the server announces a change of them, or another
/// connection to it is made. A prompt without an identifier as its name and a resource without an absolute URI are left out, with the
/// [diagnostic](Connector::diagnostics) `unusable_item`. For a server that is connected again when its connection ends, use
/// [`McpSource`](super::McpSource).
///
/// # Examples
///
/// ```no_run
/// use std::sync::Arc;
/// use tool_kit::{catalogue::{Catalogue, ItemQuery}, mcp::McpConnector};
/// use tool_mcp::client::{McpToolSet, Process, ServerConfig};
/// use tool_runtime::RunContext;
///
/// # async fn example() -> anyhow::Result<()> {
/// let process = Process::new("npx").args(["-y", "@modelcontextprotocol/server-everything"]);
/// let server = McpToolSet::builder(ServerConfig::new("everything", process));
/// let catalogue = Catalogue::new();
/// catalogue.connect(McpConnector::connect(server).await?)?;
/// for item in catalogue.snapshot(&Arc::new(RunContext::new())).await?.list(&ItemQuery::all()).items {
///     println!("{}", item.key());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct McpConnector {
    namespace: Arc<str>,
    set: McpToolSet,
    lists: Arc<ServerLists>,
}

/// The lists of a server, as far as they are known.
#[derive(Default)]
struct ServerLists {
    prompts: CachedList<dyn Prompt>,
    resources: CachedList<dyn ReadableResource>,
    notifiers: Mutex<Vec<ConnectorNotifier>>,
}

/// A list that is kept until it changes.
struct CachedList<T: ?Sized> {
    /// The number of changes.
    version: AtomicU64,
    kept: Mutex<Option<(u64, ListedItems<T>)>>,
}

/// The items that a server listed, and diagnostics of those that are left out.
struct ListedItems<T: ?Sized> {
    items: Vec<Arc<T>>,
    diagnostics: Vec<Diagnostic>,
}

impl McpConnector {
    /// Connects to a server. Its [`on_change`](McpToolSetBuilder::on_change) is set by the connector.
    ///
    /// # Errors
    ///
    /// As [`McpToolSetBuilder::connect`].
    pub async fn connect(server: McpToolSetBuilder) -> Result<Self, ClientError> {
        let lists = Arc::<ServerLists>::default();
        let set = with_change_listener(server, &lists).connect().await?;
        Ok(Self { namespace: ToolSet::name(&set).into(), set, lists })
    }

    /// Connects to a server; the namespace is the name that it reports.
    pub(super) async fn connect_with_reported_namespace(
        server: McpToolSetBuilder,
    ) -> Result<Self, ClientError> {
        let connector = Self::connect(server).await?;
        let reported = connector.set.server_info().await?.server_info.map(|info| info.name);
        Ok(Self { namespace: reported.unwrap_or_default().into(), ..connector })
    }

    /// Creates the connector of a server that is connected when it is first listed or called.
    #[must_use]
    pub fn lazy(server: McpToolSetBuilder) -> Self {
        let lists = Arc::<ServerLists>::default();
        let set = with_change_listener(server, &lists).lazy();
        Self { namespace: ToolSet::name(&set).into(), set, lists }
    }

    /// Returns the server, to subscribe to its resources, and to close it.
    #[must_use]
    pub fn server(&self) -> &McpToolSet {
        &self.set
    }

    async fn capabilities(&self) -> Result<model::ServerCapabilities, ToolError> {
        self.set.server_info().await.map(|info| info.capabilities).map_err(ToolError::from)
    }

    async fn list_prompts(&self) -> Result<ListedItems<dyn Prompt>, ToolError> {
        let has_prompts = self.capabilities().await?.prompts.is_some();
        let listed = if has_prompts { self.set.list_prompts().await? } else { Vec::new() };
        Ok(ListedItems::of("prompt", listed, |prompt| {
            ServerPrompt::of_listed(prompt, &self.set)
                .map(|prompt| Arc::new(prompt) as Arc<dyn Prompt>)
                .map_err(|error| error.to_string())
        }))
    }

    async fn list_resources(&self) -> Result<ListedItems<dyn ReadableResource>, ToolError> {
        let has_resources = self.capabilities().await?.resources.is_some();
        let listed = if has_resources { self.set.list_resources().await? } else { Vec::new() };
        Ok(ListedItems::of("resource", listed, |resource| {
            ServerResource::of_listed(resource, &self.set)
                .map(|resource| Arc::new(resource) as Arc<dyn ReadableResource>)
                .map_err(|error| error.to_string())
        }))
    }
}

fn with_change_listener(server: McpToolSetBuilder, lists: &Arc<ServerLists>) -> McpToolSetBuilder {
    let lists = Arc::clone(lists);
    server.on_change(move |change| lists.announce_server_change(change))
}

impl ServerLists {
    /// Adds a notifier, and drops those of catalogues that the connector was removed from.
    fn add_notifier(&self, notifier: ConnectorNotifier) {
        let known = std::mem::take(&mut *self.lock_notifiers());
        let attached: Vec<_> = known.into_iter().filter(ConnectorNotifier::is_attached).collect();
        let mut notifiers = self.lock_notifiers();
        notifiers.extend(attached);
        notifiers.push(notifier);
    }

    fn lock_notifiers(&self) -> MutexGuard<'_, Vec<ConnectorNotifier>> {
        self.notifiers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce_server_change(&self, change: ServerChange) {
        let changes = match change {
            // Another connection is announced by this, too: its other lists may differ.
            ServerChange::Tools => vec![CatalogueChange::Prompts, CatalogueChange::Resources],
            ServerChange::Prompts => vec![CatalogueChange::Prompts],
            ServerChange::Resources => vec![CatalogueChange::Resources],
            ServerChange::Resource { uri } => vec![CatalogueChange::Resource { uri }],
            _ => Vec::new(),
        };
        let notifiers = self.lock_notifiers().clone();
        for change in changes {
            match change {
                CatalogueChange::Prompts => self.prompts.invalidate(),
                CatalogueChange::Resources => self.resources.invalidate(),
                _ => {}
            }
            notifiers.iter().for_each(|notifier| notifier.announce(change.clone()));
        }
    }
}

impl<T: ?Sized> CachedList<T> {
    /// Returns the items of the kept list, or else of `list`, which is kept unless it has changed meanwhile.
    async fn cached_or_listed_items(
        &self,
        list: impl Future<Output = Result<ListedItems<T>, ToolError>>,
    ) -> Result<Vec<Arc<T>>, ToolError> {
        let version = self.version.load(Ordering::Acquire);
        let kept = |kept: &Option<(u64, ListedItems<T>)>| {
            kept.as_ref().filter(|(made_at, _)| *made_at == version).map(|(_, list)| list.items.clone())
        };
        if let Some(items) = kept(&self.lock_kept()) {
            return Ok(items);
        }
        let list = list.await?;
        let items = list.items.clone();
        *self.lock_kept() = Some((version, list));
        Ok(items)
    }

    fn invalidate(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        self.lock_kept().as_ref().map(|(_, list)| list.diagnostics.clone()).unwrap_or_default()
    }

    fn lock_kept(&self) -> MutexGuard<'_, Option<(u64, ListedItems<T>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Default for CachedList<T> {
    fn default() -> Self {
        Self { version: AtomicU64::new(0), kept: Mutex::new(None) }
    }
}

impl<T: ?Sized> ListedItems<T> {
    /// Makes the items of a list of the protocol; one that cannot be made is left out.
    fn of<L>(kind: &str, listed: Vec<L>, make: impl Fn(L) -> Result<Arc<T>, String>) -> Self {
        let (mut items, mut diagnostics) = (Vec::with_capacity(listed.len()), Vec::new());
        for item in listed {
            match make(item) {
                Ok(item) => items.push(item),
                Err(problem) => {
                    let message = format!("a {kind} of the server is left out: {problem}");
                    diagnostics.push(Diagnostic::new(Severity::Error, "unusable_item", message));
                }
            }
        }
        Self { items, diagnostics }
    }
}

impl Connector for McpConnector {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn toolset(&self) -> Option<Arc<dyn ToolSet>> {
        Some(Arc::new(self.set.clone()))
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        Box::pin(self.lists.prompts.cached_or_listed_items(self.list_prompts()))
    }

    fn resources<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn ReadableResource>>, ToolError>> {
        Box::pin(self.lists.resources.cached_or_listed_items(self.list_resources()))
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        [self.lists.prompts.diagnostics(), self.lists.resources.diagnostics(), self.set.diagnostics()]
            .concat()
    }

    fn attached(&self, notifier: ConnectorNotifier) {
        self.lists.add_notifier(notifier);
    }

    fn closed(&self) -> BoxFuture<'_, ToolError> {
        Box::pin(async { self.set.disconnected().await.into() })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(McpToolSet::close(&self.set))
    }
}

impl fmt::Debug for ServerLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLists")
            .field("prompt_changes", &self.prompts.version)
            .field("resource_changes", &self.resources.version)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifiers_of_catalogues_that_the_connector_was_removed_from_are_dropped() {
        let lists = ServerLists::default();
        for number in 0..10 {
            lists.add_notifier(ConnectorNotifier::new(|_| {}).attached_while(move || number == 3));
        }
        // The last one is checked by the next addition.
        assert_eq!(lists.lock_notifiers().len(), 2);
    }
}
