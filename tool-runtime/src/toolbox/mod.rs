//! A live collection of tools, from which each run takes what it is to have.
//!
//! What a run sees is decided when it takes its [`Snapshot`]: one consistent state of the toolbox, whatever
//! others add or remove in the meantime. A change copies the state, so that nobody waits while sets are
//! listed. The toolbox owns no set: whoever made one closes it.

mod attached;
mod notice;
mod run_tools;
mod snapshot;
#[cfg(test)]
mod tests;
mod visibility;

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use tokio::sync::watch;
use tool_core::{RequestHook, RunContext, SharedRequestHook, Tool, ToolName};

use self::attached::Attached;
pub use self::{
    notice::{Notice, Origin},
    run_tools::RunTools,
    snapshot::Snapshot,
    visibility::Visibility,
};
use crate::{BuildError, Problem, Registry, ToolSet, registry::Entry, shield::discard};

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
/// let toolbox = Toolbox::over(&Registry::builder().tool::<add>().build()?);
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
        Self::over(&Registry::none())
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
    pub fn over(tools: &Registry) -> Self {
        let mut direct = Vec::new();
        let mut by_set: BTreeMap<String, Vec<Arc<Entry>>> = BTreeMap::new();
        for entry in tools.entries() {
            match &entry.definition().metadata().toolset {
                Some(set) => by_set.entry(set.to_string()).or_default().push(Arc::clone(entry)),
                None => direct.push(Direct { entry: Arc::clone(entry), framework: false }),
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
        let changes = watch::Sender::new(());
        Self { inner: Arc::new(Inner { base: tools.of(Vec::new()), state, changes }) }
    }

    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// If a direct tool of its name is there already, or it cannot be used; nothing is changed.
    pub fn add(&self, tool: impl Tool + 'static) -> Result<(), BuildError> {
        self.insert(Arc::new(tool), false)
    }

    /// Adds a tool that is part of how an agent works, such as one that hands a conversation over: no
    /// [`Visibility`] hides it.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    pub fn add_framework_tool(&self, tool: impl Tool + 'static) -> Result<(), BuildError> {
        self.insert(Arc::new(tool), true)
    }

    fn insert(&self, tool: Arc<dyn Tool>, framework: bool) -> Result<(), BuildError> {
        let entry = self.compile(tool)?;
        let direct = Direct { entry, framework };
        self.change(|state| {
            let name = direct.entry.definition().name();
            match state.tools.iter().any(|it| it.is_named(name)) {
                true => (Err(twice(name)), false),
                false => {
                    state.tools.push(direct.clone());
                    (Ok(()), true)
                }
            }
        })
    }

    /// Adds a tool in place of the direct tool of its name, where there is one; says whether there was.
    ///
    /// # Errors
    ///
    /// If it cannot be used; nothing is changed.
    pub fn replace(&self, tool: impl Tool + 'static) -> Result<bool, BuildError> {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        let entry = self.compile(tool)?;
        Ok(self.change(|state| {
            let place = state.tools.iter_mut().find(|it| it.is_named(entry.definition().name()));
            let is_replaced = place.is_some();
            match place {
                Some(direct) => direct.entry = Arc::clone(&entry),
                None => state.tools.push(Direct { entry: Arc::clone(&entry), framework: false }),
            }
            (is_replaced, true)
        }))
    }

    /// Removes the direct tool `name`; says whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        self.change(|state| {
            let is_removed = state.tools.extract_if(.., |it| it.is_named(name)).count() > 0;
            (is_removed, is_removed)
        })
    }

    /// Makes `tools` the direct tools, in place of all but those of the framework.
    ///
    /// # Errors
    ///
    /// If two have one name, or one cannot be used; nothing is changed.
    pub fn set_tools(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<(), BuildError> {
        let entries: Result<Vec<_>, _> = tools.into_iter().map(|tool| self.compile(tool)).collect();
        let entries = entries?;
        self.change(|state| {
            let mut tools: Vec<_> = state.tools.iter().filter(|it| it.framework).cloned().collect();
            let mut names: HashSet<ToolName> =
                tools.iter().map(|it| it.entry.definition().name().clone()).collect();
            for entry in &entries {
                let name = entry.definition().name();
                if !names.insert(name.clone()) {
                    return (Err(twice(name)), false);
                }
                tools.push(Direct { entry: Arc::clone(entry), framework: false });
            }
            state.tools = tools;
            (Ok(()), true)
        })
    }

    /// Adds a set, in place of the set of its name, where there is one; says whether there was. A set that
    /// is replaced is not closed, and one without a name replaces none.
    pub fn add_toolset(&self, set: impl ToolSet + 'static) -> bool {
        let attached = Arc::new(Attached::new(Arc::new(set)));
        self.change(|state| (put(&mut state.toolsets, Arc::clone(&attached)), true))
    }

    /// Removes the sets of that name; says whether there was one. It is not closed.
    pub fn remove_toolset(&self, name: &str) -> bool {
        self.change(|state| {
            let is_removed = state.toolsets.extract_if(.., |it| it.name == name).count() > 0;
            (is_removed, is_removed)
        })
    }

    /// Makes `sets` the sets, in place of all; of two with one name, the later. None is closed.
    pub fn set_toolsets(&self, sets: impl IntoIterator<Item = Arc<dyn ToolSet>>) {
        let mut toolsets = Vec::new();
        for set in sets {
            put(&mut toolsets, Arc::new(Attached::new(set)));
        }
        self.change(|state| (state.toolsets.clone_from(&toolsets), true));
    }

    /// Adds what adds to every request of later snapshots, and is no tool itself. Hooks of the toolbox are asked after those
    /// of the [registry](crate::RegistryBuilder::request_hook) that it is made of.
    pub fn request_hook(&self, hook: impl RequestHook + 'static) {
        let hook = SharedRequestHook::new(hook);
        self.change(|state| (state.request_hooks.push(hook.clone()), true));
    }

    /// The sets, for whoever made them to close.
    #[must_use]
    pub fn toolsets(&self) -> Vec<Arc<dyn ToolSet>> {
        self.state().toolsets.iter().map(|attached| Arc::clone(&attached.set)).collect()
    }

    /// Says what all runs are shown, in place of what was said before; everything if nothing is said.
    pub fn show(&self, visibility: Visibility) {
        self.change(|state| (state.visibility = visibility.clone(), true));
    }

    /// Says whether a run has no tools at all where a set cannot list its own, or lists one that cannot be
    /// used. If nothing is said, such a set is used with what it listed last, and the run is told.
    pub fn strict_listing(&self, strict: bool) {
        self.change(|state| (state.strict_listing = strict, true));
    }

    /// Says whether a run has no tools at all where two have one name, as it is if nothing is said.
    /// Otherwise it has the first, and is told of the others.
    pub fn strict_names(&self, strict: bool) {
        self.change(|state| (state.strict_names = strict, true));
    }

    /// Tells those who [listen](Self::changes) that a set has other tools than before.
    pub fn announce(&self) {
        self.inner.changes.send_replace(());
    }

    /// Hears of changes from now on.
    #[must_use]
    pub fn changes(&self) -> ToolboxChanges {
        ToolboxChanges { receiver: self.inner.changes.subscribe() }
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

    /// Compiles `tool`, which is then held by what this gives alone, or not at all.
    fn compile(&self, tool: Arc<dyn Tool>) -> Result<Arc<Entry>, BuildError> {
        let entry = self.inner.base.compile(&tool);
        discard(tool);
        entry
    }

    /// Makes a change, which says whether it was one. It puts copies into the state: what it holds itself, and
    /// what was in the state before, is dropped when the lock is free again.
    fn change<T>(&self, mut change: impl FnMut(&mut State) -> (T, bool)) -> T {
        let before;
        let (said, is_change) = {
            let mut state = self.inner.state.write().unwrap_or_else(PoisonError::into_inner);
            before = Arc::clone(&state);
            change(Arc::make_mut(&mut state))
        };
        discard(before);
        if is_change {
            self.announce();
        }
        said
    }
}

/// Puts a set in the place of the one of its name, or else at the end; says whether there was one.
fn put(sets: &mut Vec<Arc<Attached>>, set: Arc<Attached>) -> bool {
    let place = sets.iter_mut().find(|it| !set.name.is_empty() && it.name == set.name);
    let is_replaced = place.is_some();
    match place {
        Some(place) => *place = set,
        None => sets.push(set),
    }
    is_replaced
}

fn twice(name: &str) -> BuildError {
    let origins = vec![Origin::Direct, Origin::Direct];
    BuildError { problems: vec![Problem::SameName { name: name.to_owned(), origins }] }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let tools: Vec<_> = state.tools.iter().map(|it| it.entry.definition().name()).collect();
        let toolsets: Vec<_> = state.toolsets.iter().map(|it| &it.name).collect();
        f.debug_struct("Toolbox").field("tools", &tools).field("toolsets", &toolsets).finish()
    }
}

/// Hears of changes of a [`Toolbox`]. Several that come between two questions are one.
///
/// # Examples
///
/// ```
/// use tool_runtime::{NamedTools, Toolbox};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let toolbox = Toolbox::new();
/// let mut changes = toolbox.changes();
/// toolbox.add_toolset(NamedTools::new("none", []));
/// assert!(changes.changed().await);
///
/// drop(toolbox);
/// assert!(!changes.changed().await);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ToolboxChanges {
    receiver: watch::Receiver<()>,
}

impl ToolboxChanges {
    /// Waits for a change; `false` once the toolbox is gone. May be dropped and asked again: nothing is
    /// lost.
    pub async fn changed(&mut self) -> bool {
        self.receiver.changed().await.is_ok()
    }

    /// Whether there was a change that [`changed`](Self::changed) has not told of.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.receiver.has_changed().unwrap_or(false)
    }
}
