//! A live collection of tools, from which each run takes what it is to have.
//!
//! What a run sees is decided when it takes its [`Snapshot`]: one consistent state of the toolbox, whatever
//! others add or remove in the meantime. A change copies the state, so that nobody waits while sets are
//! listed. The toolbox owns no set: whoever made one closes it.

mod attached;
mod edit;
mod event;
mod notice;
mod run_tools;
mod snapshot;
#[cfg(test)]
mod tests;
mod visibility;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use tokio::sync::{broadcast, watch};
use tool_core::{RunContext, SharedRequestHook};

use self::attached::Attached;
pub use self::{
    event::{ToolboxChange, ToolboxChanges, ToolboxEvent, ToolboxListener},
    notice::{Notice, Origin},
    run_tools::RunTools,
    snapshot::Snapshot,
    visibility::Visibility,
};
use crate::{
    Registry, ToolSet,
    registry::{BuildError, Entry, OUTPUT_TOOL},
};

/// A live collection of tools and of sets of tools. Cheap to clone; clones are one collection.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Executor, RunContext, ToolCall, Toolbox, prelude::*};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let toolbox = Toolbox::from_registry(&Registry::builder().tool::<add>().build()?);
/// let run = RunContext::new();
/// let executor = Executor::new(toolbox.snapshot(&run).await?.into_tools());
///
/// toolbox.remove("add");
/// let call = ToolCall::new("add", r#"{ "a": 2, "b": 3 }"#);
/// // The run keeps what it has; the next one has it no more.
/// assert_eq!(executor.run(vec![call]).await[0].result().unwrap().text(), "5");
/// assert!(toolbox.snapshot(&run).await?.tools().is_empty());
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct Toolbox {
    inner: Arc<Inner>,
}

struct Inner {
    /// No tool, and the terms for all.
    base: Registry,
    state: RwLock<Arc<State>>,
    changes: watch::Sender<()>,
    events: broadcast::Sender<ToolboxEvent>,
}

#[derive(Clone)]
struct State {
    tools: Vec<Direct>,
    toolsets: Vec<Arc<Attached>>,
    visibility: Visibility,
    strict_listing: bool,
    strict_names: bool,
    request_hooks: Vec<SharedRequestHook>,
}

#[derive(Clone)]
struct Direct {
    entry: Arc<Entry>,
    framework: bool,
}

impl Direct {
    fn is_named(&self, name: &str) -> bool {
        self.entry.definition().name() == name
    }
}

impl Default for Toolbox {
    fn default() -> Self {
        Self::from_registry(&Registry::none())
    }
}

impl Toolbox {
    /// Nothing, on the terms of a [`Registry`] of which nothing was said.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The tools of `tools`, and its terms for all that are added: provided values, strictness, repair.
    /// Tools that say which set they belong to come as that [set](Registry::toolsets), the others as
    /// direct tools.
    #[must_use]
    pub fn from_registry(tools: &Registry) -> Self {
        let mut direct = Vec::new();
        let mut by_set: BTreeMap<String, Vec<Arc<Entry>>> = BTreeMap::new();
        for entry in tools.entries() {
            match &entry.definition().metadata().toolset {
                Some(set) => by_set.entry(set.to_string()).or_default().push(Arc::clone(entry)),
                None => {
                    let framework = *entry.definition().name() == *OUTPUT_TOOL;
                    direct.push(Direct { entry: Arc::clone(entry), framework });
                }
            }
        }
        let toolsets = tools.toolsets().into_iter().map(|set| {
            let entries = by_set.remove(set.name()).unwrap_or_default();
            Arc::new(Attached::compiled(Arc::new(set), entries))
        });
        let state = State {
            tools: direct,
            toolsets: toolsets.collect(),
            visibility: Visibility::all(),
            strict_listing: false,
            strict_names: true,
            request_hooks: Vec::new(),
        };
        let state = RwLock::new(Arc::new(state));
        let inner = Inner {
            base: tools.of(Vec::new()),
            state,
            changes: watch::Sender::new(()),
            events: broadcast::Sender::new(event::KEPT),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The sets, for whoever made them to close.
    #[must_use]
    pub fn toolsets(&self) -> Vec<Arc<dyn ToolSet>> {
        self.state().toolsets.iter().map(|attached| Arc::clone(&attached.set)).collect()
    }

    /// Hears of changes from now on, and not of which.
    #[must_use]
    pub fn changes(&self) -> ToolboxChanges {
        ToolboxChanges::new(self.inner.changes.subscribe())
    }

    /// Receives from now on what is added, removed, replaced and changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Toolbox, toolset::NamedTools};
    ///
    /// let toolbox = Toolbox::new();
    /// let mut listener = toolbox.subscribe();
    /// toolbox.add_toolset(NamedTools::new("math", []))?;
    /// toolbox.remove_toolset("math");
    /// assert_eq!(listener.try_next().unwrap()?.to_string(), "the set `math` was added");
    /// assert_eq!(listener.try_next().unwrap()?.to_string(), "the set `math` was removed");
    /// assert!(listener.try_next().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> ToolboxListener {
        ToolboxListener::new(self.inner.events.subscribe())
    }

    /// The tools for `run`; outside of a run, for one of which nothing is known: `RunContext::new()`.
    ///
    /// All sets are asked together, and waited for: how long one may take is for itself to limit.
    /// Dropping the future stops asking.
    ///
    /// # Errors
    ///
    /// If two tools that the run would be shown have one name, or a direct tool takes a value that neither
    /// the program nor the run provides; and what the `strict_..` methods say.
    pub async fn snapshot(&self, run: &RunContext) -> Result<Snapshot, BuildError> {
        self.snapshot_with(run, &RunTools::new()).await
    }

    /// As [`snapshot`](Self::snapshot), with what `run` brings for itself.
    ///
    /// # Errors
    ///
    /// As [`snapshot`](Self::snapshot).
    pub async fn snapshot_with(
        &self,
        run: &RunContext,
        additions: &RunTools,
    ) -> Result<Snapshot, BuildError> {
        snapshot::snapshot(&self.state(), &self.inner.base, run, additions).await
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.inner.state.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let tools: Vec<_> = state.tools.iter().map(|it| it.entry.definition().name()).collect();
        let toolsets: Vec<_> = state.toolsets.iter().map(|it| &it.name).collect();
        f.debug_struct("Toolbox").field("tools", &tools).field("toolsets", &toolsets).finish()
    }
}
