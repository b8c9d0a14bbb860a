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
    wrapped::{Asks, WrappedTools, wrap_unchanged, wrap_with_confirmation, wrap_with_name},
};

/// Adapters for toolsets, which can be combined. An adapter keeps the name and the owner of the toolset.
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
    /// Prefixes the names of the tools: `<name of the toolset>__<name of the tool>`. A toolset without a name
    /// is unchanged. A toolset that is already prefixed gets no second prefix; a tool whose own name starts
    /// with the prefix gets it again, since names are never parsed. An invalid result, such as one that is too
    /// long, is rewritten as described at [`ToolName::prefixed`]. The tool finds its own name in
    /// [`raw_tool_name`](tool_core::ToolContext::raw_tool_name).
    fn prefixed(self) -> AdaptedSet<Self> {
        self.prefixed_with("__")
    }

    /// Prefixes the names of the tools with `separator` instead of `__`; otherwise as
    /// [`prefixed`](Self::prefixed).
    fn prefixed_with(self, separator: impl Into<String>) -> AdaptedSet<Self> {
        AdaptedSet::new(self, Step::Prefix(separator.into()))
    }

    /// Keeps the tools for which `shows` returns `true`. It receives the names after earlier adapters.
    fn filtered(
        self,
        shows: impl Fn(ReadonlyContext<'_>, &ToolDefinition) -> bool + Send + Sync + 'static,
    ) -> AdaptedSet<Self> {
        AdaptedSet::new(self, Step::Filter(Box::new(shows)))
    }

    /// Keeps the tools with these names, as named after earlier adapters.
    fn only<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> AdaptedSet<Self> {
        let names: HashSet<String> = names.into_iter().map(Into::into).collect();
        self.filtered(move |_, definition| names.contains(definition.name().as_str()))
    }

    /// Renames tools, by pairs of current name and new name.
    fn renamed<O: Into<String>, N: Into<String>>(
        self,
        names: impl IntoIterator<Item = (O, N)>,
    ) -> AdaptedSet<Self> {
        let names: HashMap<String, String> =
            names.into_iter().map(|(old, new)| (old.into(), new.into())).collect();
        self.renamed_by(move |name| names.get(name).cloned())
    }

    /// Renames tools to the names that `rename` returns; `None` keeps the name.
    fn renamed_by(self, rename: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> AdaptedSet<Self> {
        AdaptedSet::new(self, Step::Rename(Box::new(rename)))
    }

    /// Requires confirmation of the calls for which `asks` returns `true`, given the tool's current name and
    /// the arguments; in addition to the calls for which the tool itself requires it. An
    /// [external](Tool::is_external) tool is not affected.
    fn confirmed(self, asks: impl Fn(&str, &Value) -> bool + Send + Sync + 'static) -> AdaptedSet<Self> {
        AdaptedSet::new(self, Step::Confirm(Arc::new(asks)))
    }

    /// Adds a request hook to requests with this toolset. Hooks of a toolset run after those of the program and
    /// of the toolbox.
    fn request_hook(self, hook: impl RequestHook + 'static) -> AdaptedSet<Self> {
        AdaptedSet::new(self, Step::Request(SharedRequestHook::new(hook)))
    }

    /// Caches one listing for all runs, made in an empty run context. A failed listing is retried by the next
    /// run; the cache is invalidated when the toolset [announces](ToolSetNotifier) a change.
    fn listed_once(self) -> CachedToolSet<Self> {
        CachedToolSet::new(self)
    }
}

impl<S: ToolSet> ToolSetExt for S {}

/// A toolset with an adapter of [`ToolSetExt`].
pub struct AdaptedSet<S> {
    set: S,
    step: Step,
    wrappings: WrappedTools,
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
        Self { set, step, wrappings: WrappedTools::default() }
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
            Step::Prefix(separator) => self.wrappings.wrap_all(tools, |tool| {
                wrap_with_name(tool, |own| Ok(Some(own.prefixed(&format!("{set}{separator}")))))
            }),
            Step::Rename(rename) => self.wrappings.wrap_all(tools, |tool| {
                wrap_with_name(tool, |own| {
                    rename(own).map(|name| self.checked_tool_name(name, own)).transpose()
                })
            }),
            Step::Filter(shows) => {
                let mut tools = self.wrappings.wrap_all(tools, |tool| Ok(wrap_unchanged(tool)))?;
                tools.retain(|tool| shows(cx, tool.definition()));
                Ok(tools)
            }
            Step::Confirm(asks) => self.wrappings.wrap_all(tools, |tool| {
                Ok(if tool.is_external() { Arc::clone(tool) } else { wrap_with_confirmation(tool, asks) })
            }),
        }
    }

    /// Validates the new name of `tool`; an error names the tool and the toolset.
    fn checked_tool_name(&self, name: String, tool: &ToolName) -> Result<ToolName, ToolError> {
        ToolName::new(name).map_err(|error| {
            let set = self.set.name();
            ToolError::failed(format!("the tool `{tool}` of the toolset `{set}` cannot be listed: {error}"))
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
