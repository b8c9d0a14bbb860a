//! A mutable collection of tools and toolsets, and snapshots of it for runs.
//!
//! A [`Toolbox`] is changed at any time; each run takes a [`Snapshot`], one consistent state that later changes
//! do not affect. A change copies the part that a snapshot in the making still reads, so that no lock is held
//! while toolsets are listed; otherwise, one of many tools is added or removed without a look at the others. A
//! toolbox does not own its toolsets: the code that created one closes it.
//!
//! | type | purpose |
//! | --- | --- |
//! | [`Toolbox`] | the collection: add, replace, remove, configure |
//! | [`Snapshot`], [`RunDiagnostic`], [`Origin`] | the tools of one run, with diagnostics and origins |
//! | [`Visibility`] | a filter for the tools that a model sees |
//! | [`RunTools`] | additional tools of one run |
//! | [`ToolboxListener`], [`ToolboxEvent`], [`ToolboxChanges`] | notification of changes |

mod attached;
mod deferral;
mod diagnostic;
mod edit;
mod event;
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
use tool_core::{RunContext, SharedRequestHook, ToolName};

use self::{attached::AttachedSet, deferral::ToolboxDeferral};
pub use self::{
    diagnostic::RunDiagnostic,
    event::{ToolboxChange, ToolboxChanges, ToolboxEvent, ToolboxListener},
    run_tools::RunTools,
    snapshot::Snapshot,
    visibility::Visibility,
};
#[doc(no_inline)]
pub use crate::registry::Origin;
use crate::{
    Registry, ToolSet,
    registry::{BuildError, Entry, OUTPUT_TOOL},
};

/// A mutable collection of tools and toolsets. Cheap to clone; clones share the collection.
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
/// // The run keeps its tools; the next run does not have them.
/// assert_eq!(executor.run(vec![call]).await[0].result().unwrap().text(), "5");
/// assert!(toolbox.snapshot(&run).await?.tools().is_empty());
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct Toolbox {
    inner: Arc<ToolboxParts>,
}

struct ToolboxParts {
    /// An empty registry with the settings for all tools.
    base: Registry,
    state: RwLock<Arc<State>>,
    changes: watch::Sender<()>,
    events: broadcast::Sender<ToolboxEvent>,
}

#[derive(Clone)]
struct State {
    /// Shared with the snapshots that are being made.
    tools: Arc<DirectTools>,
    toolsets: Vec<Arc<AttachedSet>>,
    visibility: Visibility,
    strict_listing: bool,
    strict_names: bool,
    request_hooks: Vec<SharedRequestHook>,
    deferral: ToolboxDeferral,
}

/// The tools that belong to no toolset, by name.
type DirectTools = BTreeMap<ToolName, Direct>;

#[derive(Clone)]
struct Direct {
    entry: Arc<Entry>,
    framework: bool,
}

impl Default for Toolbox {
    fn default() -> Self {
        Self::from_registry(&Registry::none())
    }
}

impl Toolbox {
    /// Creates an empty toolbox with the default settings of a [`Registry`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a toolbox with the tools of `tools` and its settings for all later tools: provided values,
    /// strictness, repair. Tools that belong to a toolset are added as [toolsets](Registry::toolsets), the
    /// others as direct tools. Its [deferred](Registry::with_deferred) tools stay deferred.
    #[must_use]
    pub fn from_registry(tools: &Registry) -> Self {
        let mut direct = DirectTools::new();
        let mut by_set: BTreeMap<String, Vec<Arc<Entry>>> = BTreeMap::new();
        for entry in tools.entries() {
            match &entry.definition().metadata().toolset {
                Some(set) => by_set.entry(set.to_string()).or_default().push(Arc::clone(entry)),
                None => {
                    let name = entry.definition().name();
                    let framework = *name == *OUTPUT_TOOL;
                    direct.insert(name.clone(), Direct { entry: Arc::clone(entry), framework });
                }
            }
        }
        let toolsets = tools.toolsets().into_iter().map(|set| {
            let entries = by_set.remove(set.name()).unwrap_or_default();
            Arc::new(AttachedSet::compiled(Arc::new(set), entries))
        });
        let state = State {
            tools: Arc::new(direct),
            toolsets: toolsets.collect(),
            visibility: Visibility::all(),
            strict_listing: false,
            strict_names: true,
            request_hooks: Vec::new(),
            deferral: ToolboxDeferral::of_names(tools.deferred_names()),
        };
        let state = RwLock::new(Arc::new(state));
        let inner = ToolboxParts {
            base: tools.with_entries_of_this(Vec::new()),
            state,
            changes: watch::Sender::new(()),
            events: broadcast::Sender::new(event::KEPT),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the toolsets, for the code that has to close them.
    #[must_use]
    pub fn toolsets(&self) -> Vec<Arc<dyn ToolSet>> {
        self.state().toolsets.iter().map(|attached| Arc::clone(&attached.set)).collect()
    }

    /// Creates a receiver that is notified of later changes without their details.
    #[must_use]
    pub fn changes(&self) -> ToolboxChanges {
        ToolboxChanges::new(self.inner.changes.subscribe())
    }

    /// Creates a listener for later additions, removals, replacements and changes.
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

    /// Takes a snapshot of the tools for `run`; outside of a run, pass `RunContext::new()`.
    ///
    /// All toolsets are listed concurrently, without a timeout: a toolset limits its own time. Dropping the
    /// future cancels the listing.
    ///
    /// # Errors
    ///
    /// Returns an error if two visible tools have the same name, or if a direct tool depends on a value that
    /// neither the program nor the run provides; see also the `strict_..` methods.
    pub async fn snapshot(&self, run: &RunContext) -> Result<Snapshot, BuildError> {
        self.snapshot_with(run, &RunTools::new()).await
    }

    /// Takes a snapshot with the additional tools of one run; as [`snapshot`](Self::snapshot).
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
        let tools: Vec<_> = state.tools.keys().collect();
        let toolsets: Vec<_> = state.toolsets.iter().map(|it| &it.name).collect();
        f.debug_struct("Toolbox").field("tools", &tools).field("toolsets", &toolsets).finish()
    }
}
