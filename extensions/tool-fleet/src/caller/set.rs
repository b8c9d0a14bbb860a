use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::task::JoinHandle;
use tool_runtime::{
    BoxFuture, Tool, ToolError, ToolSet, context::ReadonlyContext, definition::ContentHash,
    open_calls::PoolKey, toolset::ToolSetNotifier,
};

use super::{FleetSettings, connection::Connection, tool::RemoteTool};
use crate::{FleetError, Transport, channel::Channel};

/// The tools of the workers of one pool, under the prefix of the pool: `weather__forecast`.
///
/// Add it to a [`Toolbox`](tool_runtime::Toolbox), which hears when workers with other tools come or leave. Two versions of a registry are
/// listed together; of two definitions of one name, the one with more workers. Dropping the set ends its calls.
///
/// See the [crate] for an example.
pub struct FleetToolSet {
    connection: Arc<Connection>,
    task: JoinHandle<()>,
    listed: Mutex<ListedDefinitions>,
}

/// Definitions that were read from workers, by hashes.
#[derive(Default)]
struct ListedDefinitions {
    indexes: HashMap<ContentHash, Arc<[ContentHash]>>,
    tools: HashMap<ContentHash, Arc<RemoteTool>>,
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
    /// As [`connect`](Self::connect).
    pub async fn connect_with(
        transport: impl Transport,
        key: PoolKey,
        settings: FleetSettings,
    ) -> Result<Self, FleetError> {
        let channel = Channel::new(key, Arc::new(transport))?;
        let (connection, incoming) = Connection::open(channel, settings).await?;
        #[expect(clippy::disallowed_methods, reason = "the set aborts it when it is dropped")]
        let task = tokio::spawn(Arc::clone(&connection).read_until_closed(incoming));
        Ok(Self { connection, task, listed: Mutex::default() })
    }

    async fn list_tools(&self) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
        self.connection.find_workers().await?;
        // By name: the number of workers, and the tool.
        let mut chosen: BTreeMap<String, (usize, Arc<RemoteTool>)> = BTreeMap::new();
        let mut by_hash: HashMap<ContentHash, Vec<(ContentHash, usize)>> = HashMap::new();
        for (registry, workers) in self.connection.workers.registries() {
            let registry = ContentHash::from(registry);
            for hash in self.index_of(registry).await?.iter() {
                by_hash.entry(*hash).or_default().push((registry, workers));
            }
        }
        for (hash, registries) in by_hash {
            let workers = registries.iter().map(|(_, workers)| workers).sum();
            let tool = self.listed_tool(hash)?;
            tool.set_registries(registries.into_iter().map(|(registry, _)| registry).collect());
            let name = tool.definition().name().to_string();
            let is_better = chosen
                .get(&name)
                .is_none_or(|(most, other)| (workers, <[u8; 32]>::from(hash)) > (*most, other.hash().into()));
            if is_better {
                chosen.insert(name, (workers, tool));
            }
        }
        Ok(chosen.into_values().map(|(_, tool)| tool as Arc<dyn Tool>).collect())
    }

    /// Returns the hashes of a registry, whose tools are read.
    async fn index_of(&self, registry: ContentHash) -> Result<Arc<[ContentHash]>, ToolError> {
        let known = self.lock_listed().indexes.get(&registry).cloned();
        if let Some(index) = known {
            return Ok(index);
        }
        let index: Arc<[ContentHash]> = self.connection.read_index(registry).await?.into();
        let missing = {
            let listed = self.lock_listed();
            index.iter().filter(|hash| !listed.tools.contains_key(hash)).copied().collect()
        };
        let definitions = self.connection.read_definitions(registry, missing).await?;
        let mut listed = self.lock_listed();
        for (hash, definition) in definitions {
            let tool = || Arc::new(RemoteTool::new(definition, hash, Arc::clone(&self.connection)));
            listed.tools.entry(hash).or_insert_with(tool);
        }
        listed.indexes.insert(registry, Arc::clone(&index));
        Ok(index)
    }

    fn listed_tool(&self, hash: ContentHash) -> Result<Arc<RemoteTool>, ToolError> {
        let tool = self.lock_listed().tools.get(&hash).cloned();
        tool.ok_or_else(|| ToolError::failed("a listed definition was not read"))
    }

    fn lock_listed(&self) -> std::sync::MutexGuard<'_, ListedDefinitions> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        Box::pin(std::future::ready(Ok(())))
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
        self.connection.closed.cancel();
        self.task.abort();
    }
}

impl fmt::Debug for FleetToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetToolSet").field("pool", &self.connection.channel.pool()).finish_non_exhaustive()
    }
}
