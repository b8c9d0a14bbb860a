use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use futures_util::{StreamExt, stream};
use tokio::task::JoinHandle;
use tool_runtime::{
    BoxFuture, ErrorKind, Tool, ToolError, ToolSet,
    context::ReadonlyContext,
    definition::ContentHash,
    diagnostic::{Diagnostic, Severity},
    open_calls::PoolKey,
    toolset::ToolSetNotifier,
};

use super::{DurableCalls, FleetSettings, connection::Connection, tool::RemoteTool};
use crate::{FleetError, Transport, ValueStore, channel::Channel, values::LargeValues};

/// The time of a whole registry, in times of one page.
const LISTING_PAGES: u32 = 10;

/// The registries that are asked for their tools at once.
const REGISTRIES_AT_ONCE: usize = 8;

/// The tools of the workers of one pool, under the prefix of the pool: `weather__forecast`.
///
/// Add it to a [`Toolbox`](tool_runtime::Toolbox), which hears when workers with other tools come or leave. Two versions of a registry are
/// listed together; of two definitions of one name, the one with more workers. A registry whose workers do not answer is left out, with a
/// [diagnostic](Self::diagnostics). Closing or dropping the set ends its calls, and cancels them at their workers;
/// durable calls go on, and are left open.
///
/// See the [crate] for an example.
pub struct FleetToolSet {
    connection: Arc<Connection>,
    /// `None` once `close` was called.
    task: Mutex<Option<JoinHandle<()>>>,
    listed: Mutex<ListedDefinitions>,
}

/// Definitions and diagnostics of the last listings.
#[derive(Default)]
struct ListedDefinitions {
    /// The tools of each registry that has workers.
    registries: HashMap<ContentHash, Arc<[Arc<RemoteTool>]>>,
    /// By hashes of their definitions: also those of registries that have left, for as long as a program has them.
    tools: HashMap<ContentHash, Weak<RemoteTool>>,
    /// The last listing of a set with durable calls, which wait while no worker is there.
    last: Vec<Arc<dyn Tool>>,
    diagnostics: Vec<Diagnostic>,
}

impl FleetToolSet {
    /// Connects to the pool of `key`, with default settings. Workers may come later.
    ///
    /// # Errors
    ///
    /// Returns an error if the name of the pool is invalid, or the broker cannot be reached.
    pub async fn connect(transport: impl Transport, key: PoolKey) -> Result<Self, FleetError> {
        Self::connect_with(transport, key, FleetSettings::default()).await
    }

    /// Connects to the pool of `key`.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), and if a setting is out of its range.
    pub async fn connect_with(
        transport: impl Transport,
        key: PoolKey,
        settings: FleetSettings,
    ) -> Result<Self, FleetError> {
        Self::open(transport, key, settings, None).await
    }

    /// Connects to the pool of `durable`, whose calls are stored in a queue. Tools that were listed stay listed while no worker is there.
    ///
    /// # Errors
    ///
    /// As [`connect_with`](Self::connect_with), and [`FleetError::Invalid`] if the [store of large values](DurableCalls::value_store) keeps a value for less
    /// time than the queue a call and its result.
    pub async fn connect_durable(
        transport: impl Transport,
        settings: FleetSettings,
        durable: DurableCalls,
    ) -> Result<Self, FleetError> {
        durable.check_lifetime()?;
        Self::open(transport, durable.key().clone(), settings, Some(durable)).await
    }

    async fn open(
        transport: impl Transport,
        key: PoolKey,
        settings: FleetSettings,
        durable: Option<DurableCalls>,
    ) -> Result<Self, FleetError> {
        settings.check()?;
        let channel = Channel::new(key, Arc::new(transport))?;
        let (connection, incoming) = Connection::open(channel, settings, durable).await?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the set ends it when it is dropped, and `close` joins it"
        )]
        let task = tokio::spawn(Arc::clone(&connection).read_until_closed(incoming));
        Ok(Self { connection, task: Mutex::new(Some(task)), listed: Mutex::default() })
    }

    /// Sets the store through which arguments and results go that are too large for the broker, up to 64 MiB; in place of one that was set
    /// before. The workers of the pool need the same one. Durable calls go through the one of
    /// [`DurableCalls::value_store`]. Default: none; such a call is an error that names the size and the limit.
    #[must_use]
    pub fn with_value_store(self, store: impl ValueStore) -> Self {
        let values = LargeValues::new(self.connection.channel.key().clone(), Arc::new(store));
        self.connection.values.set_values(Arc::new(values));
        self
    }

    /// Returns the diagnostics of the last listing.
    ///
    /// | code | severity | problem |
    /// | --- | --- | --- |
    /// | `registry_not_listed` | warning | workers do not answer, or answer with other tools than they announced: the tools that they alone have are left out |
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.lock_listed().diagnostics.clone()
    }

    async fn list_tools(&self) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
        if let Err(error) = self.connection.find_workers().await {
            let last = self.lock_listed().last.clone();
            return if last.is_empty() { Err(error) } else { Ok(last) };
        }
        let live = self.connection.workers.registries();
        self.lock_listed().forget_others(&live);
        let listings = live.into_iter().map(|(registry, workers)| async move {
            (registry, workers, self.tools_in_time(registry).await)
        });
        let mut listings = stream::iter(listings).buffer_unordered(REGISTRIES_AT_ONCE);
        // Each tool with the registries that have it, and the number of their workers.
        let mut listed: HashMap<ContentHash, (Arc<RemoteTool>, Vec<ContentHash>, usize)> = HashMap::new();
        let mut problems = Vec::new();
        let mut read_any = false;
        while let Some((registry, workers, tools)) = listings.next().await {
            match tools {
                Ok(tools) => {
                    read_any = true;
                    for tool in tools.iter() {
                        let new = || (Arc::clone(tool), Vec::new(), 0);
                        let (_, registries, all_workers) = listed.entry(tool.hash()).or_insert_with(new);
                        registries.push(registry);
                        *all_workers += workers;
                    }
                }
                Err(error) => problems.push((registry, workers, error)),
            }
        }
        self.lock_listed().diagnostics = problems.iter().map(|it| self.registry_diagnostic(it)).collect();
        match problems.into_iter().next() {
            Some((_, _, error)) if !read_any => Err(error),
            _ => {
                let tools = choose_tools(listed.into_values());
                if self.connection.durable.is_some() {
                    self.lock_listed().last.clone_from(&tools);
                }
                Ok(tools)
            }
        }
    }

    /// Reports a registry that is left out.
    fn registry_diagnostic(
        &self,
        (registry, workers, error): &(ContentHash, usize, ToolError),
    ) -> Diagnostic {
        let pool = self.name();
        let problem = error.feedback();
        tracing::warn!(pool, %registry, workers, problem, "a registry cannot be listed, and its tools are left out");
        let message = format!(
            "the tools of the registry {registry} of the pool `{pool}` ({workers} workers) are left out: {problem}"
        );
        Diagnostic::new(Severity::Warning, "registry_not_listed", message)
    }

    async fn tools_in_time(&self, registry: ContentHash) -> Result<Arc<[Arc<RemoteTool>]>, ToolError> {
        let limit = self.connection.settings.listing.saturating_mul(LISTING_PAGES);
        tokio::time::timeout(limit, self.tools_of(registry)).await.unwrap_or_else(|_| {
            let problem = format!("a worker did not list all its tools within {limit:?}");
            Err(ToolError::new(ErrorKind::Unavailable, problem).retryable(true))
        })
    }

    /// Returns the tools of a registry; asks a worker unless they are known.
    async fn tools_of(&self, registry: ContentHash) -> Result<Arc<[Arc<RemoteTool>]>, ToolError> {
        let known = self.lock_listed().registries.get(&registry).cloned();
        if let Some(tools) = known {
            return Ok(tools);
        }
        let index = self.connection.read_index(registry).await?;
        let mut tools = self.lock_listed().known_tools(&index);
        let missing = index.iter().filter(|hash| !tools.contains_key(hash)).copied().collect();
        let definitions = self.connection.read_definitions(registry, missing).await?;
        let mut listed = self.lock_listed();
        for (hash, (definition, steps)) in definitions {
            // Another listing may have read it, too.
            let tool = listed.known_tool(hash).unwrap_or_else(|| {
                let tool = Arc::new(RemoteTool::new(definition, steps, hash, Arc::clone(&self.connection)));
                listed.tools.insert(hash, Arc::downgrade(&tool));
                tool
            });
            tools.insert(hash, tool);
        }
        let tools: Arc<[_]> = index.iter().filter_map(|hash| tools.get(hash).cloned()).collect();
        listed.registries.insert(registry, Arc::clone(&tools));
        Ok(tools)
    }

    fn lock_listed(&self) -> MutexGuard<'_, ListedDefinitions> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ListedDefinitions {
    /// Forgets what no worker has.
    fn forget_others(&mut self, live: &BTreeMap<ContentHash, usize>) {
        self.registries.retain(|registry, _| live.contains_key(registry));
        self.tools.retain(|_, tool| tool.strong_count() > 0);
    }

    fn known_tool(&self, hash: ContentHash) -> Option<Arc<RemoteTool>> {
        self.tools.get(&hash)?.upgrade()
    }

    fn known_tools(&self, hashes: &[ContentHash]) -> HashMap<ContentHash, Arc<RemoteTool>> {
        hashes.iter().filter_map(|hash| Some((*hash, self.known_tool(*hash)?))).collect()
    }
}

/// Chooses the tool of each name, and tells it the registries that have it.
fn choose_tools(
    listed: impl Iterator<Item = (Arc<RemoteTool>, Vec<ContentHash>, usize)>,
) -> Vec<Arc<dyn Tool>> {
    let mut chosen: BTreeMap<String, (usize, Arc<RemoteTool>)> = BTreeMap::new();
    for (tool, registries, workers) in listed {
        tool.set_registries(registries);
        let rank = |workers: usize, tool: &RemoteTool| (workers, <[u8; 32]>::from(tool.hash()));
        let name = tool.definition().name().to_string();
        let is_better =
            chosen.get(&name).is_none_or(|(most, other)| rank(workers, &tool) > rank(*most, other));
        if is_better {
            chosen.insert(name, (workers, tool));
        }
    }
    chosen.into_values().map(|(_, tool)| tool as Arc<dyn Tool>).collect()
}

impl ToolSet for FleetToolSet {
    fn name(&self) -> &str {
        self.connection.channel.pool()
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(self.list_tools())
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        self.connection.closed.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            match task {
                Some(task) => task.await.map_err(|error| ToolError::failed(error.to_string())),
                None => Ok(()),
            }
        })
    }

    fn is_prefixed(&self) -> bool {
        true
    }

    fn attached(&self, notifier: ToolSetNotifier) {
        self.connection.add_notifier(notifier);
    }
}

impl Drop for FleetToolSet {
    fn drop(&mut self) {
        // The task cancels the open calls, for at most a second, and ends.
        self.connection.closed.cancel();
    }
}

impl fmt::Debug for FleetToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetToolSet").field("pool", &self.connection.channel.pool()).finish_non_exhaustive()
    }
}
