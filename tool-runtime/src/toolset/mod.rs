//! Named groups of tools that are found out at run time.
//!
//! A set is asked for its tools at each run, with what is known of that run, and may fail. It belongs to
//! whoever made it: a [`Toolbox`](crate::Toolbox) lists it and never closes it. What stands around a set
//! ([`ToolSetExt`]) changes how its tools are shown and keeps each of them, so that a call finds its tool
//! without a look at the name that was made up for it.

mod adapted;
mod announcer;
mod once;
mod wrapped;

use std::{fmt, sync::Arc};

use tool_core::{BoxFuture, ReadonlyContext, SharedRequestHook, Tool, ToolError};

pub use self::{
    adapted::{AdaptedSet, ToolSetExt},
    announcer::ToolSetNotifier,
    once::CachedToolSet,
};

/// A named group of tools, which may depend on the run that asks for them.
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
/// # let nobody = tool_runtime::RunContext::new();
/// # let tools = futures_util::FutureExt::now_or_never(set.tools(nobody.read_only())).unwrap()?;
/// # assert!(tools.is_empty());
/// # Ok::<(), anyhow::Error>(())
/// ```
pub trait ToolSet: Send + Sync {
    /// The name of the set; may be empty.
    fn name(&self) -> &str;

    /// The tools, for the run that `cx` tells of. A tool that is the same as before should come in the
    /// same [`Arc`]: what was compiled for it is used again.
    ///
    /// # Errors
    ///
    /// If they cannot be listed, for instance since another program does not answer.
    fn tools<'a>(&'a self, cx: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>>;

    /// Gives up what the set holds: connections, processes. Called by whoever made the set, and by nobody
    /// else; a second time, it does nothing.
    ///
    /// # Errors
    ///
    /// If something could not be given up.
    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whether its tools have the name of the set before their own already.
    fn is_prefixed(&self) -> bool {
        false
    }

    /// Called with an announcer when the set is added to a [`Toolbox`](crate::Toolbox), for each of them. A set whose tools
    /// can change by themselves, as those of another program do, keeps it and
    /// [announces](ToolSetNotifier::announce) each change.
    fn attached(&self, announcer: ToolSetNotifier) {
        let _ = announcer;
    }

    /// Returns what adds to every request that is made with the set, and is no tool. Asked for each snapshot.
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

    fn attached(&self, announcer: ToolSetNotifier) {
        (**self).attached(announcer);
    }

    fn request_hooks(&self) -> Vec<SharedRequestHook> {
        (**self).request_hooks()
    }
}

/// A set of tools that are there already.
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
    /// The set `name` of `tools`.
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

/// What tells one tool from another for as long as somebody holds it.
pub(crate) fn identity(tool: &Arc<dyn Tool>) -> usize {
    Arc::as_ptr(tool).cast::<()>().addr()
}
