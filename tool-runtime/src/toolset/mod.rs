//! Named groups of tools that are listed at run time.
//!
//! A [`ToolSet`] is listed for each run, with the run's context, and may fail, for instance because a server
//! does not respond. The code that created a toolset closes it; a [`Toolbox`](crate::Toolbox) only lists it.
//! Adapters ([`ToolSetExt`]) rename, filter and guard the tools of a toolset; a call reaches the original tool
//! without parsing the new name.
//!
//! | type | purpose |
//! | --- | --- |
//! | [`ToolSet`] | the trait of toolsets |
//! | [`NamedTools`] | a toolset with fixed tools |
//! | [`ToolSetExt`], [`AdaptedSet`], [`CachedToolSet`] | adapters |
//! | [`ToolSetNotifier`] | announces that the tools of a toolset changed |

mod adapted;
mod notifier;
mod once;
mod wrapped;

use std::{fmt, sync::Arc};

use tool_core::{BoxFuture, ReadonlyContext, SharedRequestHook, Tool, ToolError};

pub use self::{
    adapted::{AdaptedSet, ToolSetExt},
    notifier::ToolSetNotifier,
    once::CachedToolSet,
};

/// A named group of tools, which may depend on the run.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use tool_runtime::{BoxFuture, Tool, ToolSet, context::ReadonlyContext, prelude::*};
///
/// /// Removes a user.
/// #[tool(register = false)]
/// fn remove_user(name: String) -> String {
///     format!("{name} is gone")
/// }
///
/// /// For administrators only.
/// struct Administration(Arc<dyn Tool>);
///
/// impl ToolSet for Administration {
///     fn name(&self) -> &str {
///         "admin"
///     }
///
///     fn tools<'a>(
///         &'a self,
///         cx: ReadonlyContext<'a>,
///     ) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
///         let is_admin = cx.state().get("role") == Some(&json!("admin"));
///         let tools = if is_admin { vec![Arc::clone(&self.0)] } else { Vec::new() };
///         Box::pin(async { Ok(tools) })
///     }
/// }
/// # let one = Registry::builder().tool::<remove_user>().build()?;
/// # let set = Administration(Arc::clone(one.get("remove_user").unwrap()));
/// # let run = tool_runtime::RunContext::new();
/// # let tools = futures_util::FutureExt::now_or_never(set.tools(run.read_only())).unwrap()?;
/// # assert!(tools.is_empty());
/// # Ok::<(), anyhow::Error>(())
/// ```
pub trait ToolSet: Send + Sync {
    /// Returns the name of the toolset; may be empty.
    fn name(&self) -> &str;

    /// Lists the tools for the run with the context `cx`. Return an unchanged tool in the same [`Arc`]: its
    /// compiled form is reused.
    ///
    /// # Errors
    ///
    /// Returns an error if the tools cannot be listed, for instance because another program does not respond.
    fn tools<'a>(&'a self, cx: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>>;

    /// Releases the resources of the toolset: connections, processes. Called only by the code that created the
    /// toolset; further calls have no effect.
    ///
    /// # Errors
    ///
    /// Returns an error if a resource could not be released.
    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move { Ok(()) })
    }

    /// Returns `true` if the names of the tools already have the toolset's name as a prefix. Default: `false`.
    fn is_prefixed(&self) -> bool {
        false
    }

    /// Called with a notifier each time the toolset is added to a [`Toolbox`](crate::Toolbox). A toolset whose
    /// tools change by themselves, such as those of another program, keeps it and
    /// [announces](ToolSetNotifier::announce) each change. Default: ignores it.
    fn attached(&self, notifier: ToolSetNotifier) {
        let _ = notifier;
    }

    /// Returns the request hooks of the toolset. Called for each snapshot. Default: none.
    fn request_hooks(&self) -> Vec<SharedRequestHook> {
        Vec::new()
    }
}

impl<S: ToolSet + ?Sized> ToolSet for Arc<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn tools<'a>(&'a self, cx: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        (**self).tools(cx)
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        (**self).close()
    }

    fn is_prefixed(&self) -> bool {
        (**self).is_prefixed()
    }

    fn attached(&self, notifier: ToolSetNotifier) {
        (**self).attached(notifier);
    }

    fn request_hooks(&self) -> Vec<SharedRequestHook> {
        (**self).request_hooks()
    }
}

/// A toolset with fixed tools.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use tool_runtime::{ToolSet, prelude::*, toolset::NamedTools};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let tools = Registry::builder().tool::<add>().build()?;
/// let math = NamedTools::new("math", [Arc::clone(tools.get("add").unwrap())]);
/// assert_eq!(math.name(), "math");
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct NamedTools {
    name: String,
    tools: Vec<Arc<dyn Tool>>,
}

impl NamedTools {
    /// Creates the toolset `name` of `tools`.
    pub fn new(name: impl Into<String>, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self { name: name.into(), tools: tools.into_iter().collect() }
    }
}

impl ToolSet for NamedTools {
    fn name(&self) -> &str {
        &self.name
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(std::future::ready(Ok(self.tools.clone())))
    }
}

impl fmt::Debug for NamedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(|tool| tool.definition().name()).collect();
        f.debug_struct("NamedTools").field("name", &self.name).field("tools", &tools).finish()
    }
}

/// Returns an identifier that distinguishes a tool from others as long as it is alive.
pub(crate) fn identity(tool: &Arc<dyn Tool>) -> usize {
    Arc::as_ptr(tool).cast::<()>().addr()
}
