use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use serde_json::Value;
use tool_core::{
    BoxFuture, ReadonlyContext, RequestHook, SharedRequestHook, Tool, ToolDefinition, ToolError, ToolName,
};

use super::{
    CachedToolSet, ToolSet, ToolSetNotifier,
    wrapped::{Asks, Wrappings, confirmed, kept, named},
};

/// What can be put around a set, and around what was put around it. The name of the set, and whom it
/// belongs to, stay as they are.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use tool_runtime::{RunContext, Toolbox, prelude::*, toolset::ToolSetExt};
///
/// /// Searches the files.
/// #[tool(toolset = "files")]
/// fn search(text: String) -> String {
///     text
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let [files] = Registry::builder().tool::<search>().build()?.toolsets().try_into().unwrap();
/// let toolbox = Toolbox::new();
/// toolbox.add_toolset(files.only(["search"]).prefixed())?;
/// let tools = toolbox.snapshot(&RunContext::new()).await?.into_tools();
/// assert_eq!(tools.definitions()[0].name(), &"files__search");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
pub trait ToolSetExt: ToolSet + Sized {
    /// Shows the tools as `<name of the set>__<name of the tool>`; under their own names where the set
    /// has none. A set that has a prefix gets no second one; a tool whose own name starts with the same text gets one, since
    /// names are never parsed. A name that is not valid then, for instance since it is too long,
    /// is rewritten as [`ToolName::prefixed`] describes. The tool finds its own name in
    /// [`raw_tool_name`](tool_core::ToolContext::raw_tool_name).
    fn prefixed(self) -> AdaptedSet<Self> {
        self.prefixed_with("__")
    }

    /// As [`prefixed`](Self::prefixed), with `separator` in place of `__`.
    fn prefixed_with(self, separator: impl Into<String>) -> AdaptedSet<Self> {
        AdaptedSet::new(self, Step::Prefix(separator.into()))
    }

    /// Shows the tools for which `shows` is true. It sees them under the names that they have so far.
    fn filtered(
        self,
        shows: impl Fn(ReadonlyContext<'_>, &ToolDefinition) -> bool + Send + Sync + 'static,
    ) -> AdaptedSet<Self> {
        AdaptedSet::new(self, Step::Filter(Box::new(shows)))
    }

    /// Shows the tools of these names, as they are named so far.
    fn only<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> AdaptedSet<Self> {
        let names: HashSet<String> = names.into_iter().map(Into::into).collect();
        self.filtered(move |_, definition| names.contains(definition.name().as_str()))
    }

    /// Shows tools under other names: pairs of the name that a tool has so far, and the new one.
    fn renamed<O: Into<String>, N: Into<String>>(
        self,
        names: impl IntoIterator<Item = (O, N)>,
    ) -> AdaptedSet<Self> {
        let names: HashMap<String, String> =
            names.into_iter().map(|(old, new)| (old.into(), new.into())).collect();
        self.renamed_by(move |name| names.get(name).cloned())
    }

    /// Shows tools under the names that `rename` gives; `None` for a tool that keeps its name.
    fn renamed_by(self, rename: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> AdaptedSet<Self> {
        AdaptedSet::new(self, Step::Rename(Box::new(rename)))
    }

    /// Has a person asked before the calls for which `asks`, given the tool's name so far and the
    /// arguments, is true; beside those for which the tool itself wants that. An
    /// [external](Tool::is_external) tool is left as it is.
    fn confirmed(self, asks: impl Fn(&str, &Value) -> bool + Send + Sync + 'static) -> AdaptedSet<Self> {
        AdaptedSet::new(self, Step::Confirm(Arc::new(asks)))
    }

    /// Adds what adds to every request that is made with the set, and is no tool itself. Hooks of a set are asked after
    /// those of the program and of the toolbox.
    fn request_hook(self, hook: impl RequestHook + 'static) -> AdaptedSet<Self> {
        AdaptedSet::new(self, Step::Request(SharedRequestHook::new(hook)))
    }

    /// Lists the set once, for all runs, in a context of which nothing is known. A listing that fails is
    /// tried again by the next run; one that has [changed](SetAnnouncer) is made anew.
    fn listed_once(self) -> CachedToolSet<Self> {
        CachedToolSet::new(self)
    }
}

impl<S: ToolSet> ToolSetExt for S {}

/// A set with something put around it by [`ToolSetExt`].
pub struct AdaptedSet<S> {
    set: S,
    step: Step,
    wrappings: Wrappings,
}

enum Step {
    Prefix(String),
    Rename(Box<Rename>),
    Filter(Box<Shows>),
    Confirm(Arc<Asks>),
    Request(SharedRequestHook),
}

type Rename = dyn Fn(&str) -> Option<String> + Send + Sync;
type Shows = dyn Fn(ReadonlyContext<'_>, &ToolDefinition) -> bool + Send + Sync;

impl<S: ToolSet> AdaptedSet<S> {
    fn new(set: S, step: Step) -> Self {
        Self { set, step, wrappings: Wrappings::default() }
    }

    fn adapt(
        &self,
        cx: ReadonlyContext<'_>,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
        let set = self.set.name();
        match &self.step {
            Step::Request(_) => Ok(tools),
            Step::Prefix(_) if set.is_empty() || self.set.is_prefixed() => Ok(tools),
            Step::Prefix(separator) => self.wrappings.around(tools, |tool| {
                named(tool, |own| Ok(Some(own.prefixed(&format!("{set}{separator}")))))
            }),
            Step::Rename(rename) => self.wrappings.around(tools, |tool| {
                named(tool, |own| rename(own).map(|name| self.valid(name, own)).transpose())
            }),
            Step::Filter(shows) => {
                let mut tools = self.wrappings.around(tools, |tool| Ok(kept(tool)))?;
                tools.retain(|tool| shows(cx, tool.definition()));
                Ok(tools)
            }
            Step::Confirm(asks) => self.wrappings.around(tools, |tool| {
                Ok(if tool.is_external() { Arc::clone(tool) } else { confirmed(tool, asks) })
            }),
        }
    }

    /// The new name of `tool`; an error that says of which tool and set where it cannot be one.
    fn valid(&self, name: String, tool: &ToolName) -> Result<ToolName, ToolError> {
        ToolName::new(name).map_err(|error| {
            let set = self.set.name();
            ToolError::failed(format!("the tool `{tool}` of the set `{set}` cannot be shown: {error}"))
        })
    }
}

impl<S: ToolSet> ToolSet for AdaptedSet<S> {
    fn name(&self) -> &str {
        self.set.name()
    }

    fn tools<'a>(&'a self, cx: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(async move { self.adapt(cx, self.set.tools(cx).await?) })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        self.set.close()
    }

    fn attached(&self, announcer: ToolSetNotifier) {
        self.set.attached(announcer);
    }

    fn is_prefixed(&self) -> bool {
        matches!(self.step, Step::Prefix(_)) || self.set.is_prefixed()
    }

    fn request_hooks(&self) -> Vec<SharedRequestHook> {
        let mut hooks = self.set.request_hooks();
        if let Step::Request(hook) = &self.step {
            hooks.push(hook.clone());
        }
        hooks
    }
}

impl<S: ToolSet> fmt::Debug for AdaptedSet<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self.step {
            Step::Prefix(_) => "prefixed",
            Step::Rename(_) => "renamed",
            Step::Filter(_) => "filtered",
            Step::Confirm(_) => "confirmed",
            Step::Request(_) => "with a request hook",
        };
        f.debug_struct("AdaptedSet").field("name", &self.name()).field("step", &step).finish_non_exhaustive()
    }
}
