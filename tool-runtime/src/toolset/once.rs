use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OnceCell;
use tool_core::{BoxFuture, ReadonlyContext, RunContext, SharedRequestHook, Tool, ToolError};

use super::{ToolSet, ToolSetNotifier};

/// A toolset that is listed once for all runs, in an empty run context, and again after it
/// [announces](super::ToolSetNotifier) a change; created by [`listed_once`](super::ToolSetExt::listed_once).
pub struct CachedToolSet<S> {
    set: S,
    /// Replaced when the toolset announces a change.
    tools: Arc<Mutex<Arc<ToolListing>>>,
}

type ToolListing = OnceCell<Vec<Arc<dyn Tool>>>;

impl<S> CachedToolSet<S> {
    pub(super) fn new(set: S) -> Self {
        Self { set, tools: Arc::default() }
    }

    fn current_listing(&self) -> Arc<ToolListing> {
        Arc::clone(&self.tools.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: ToolSet> ToolSet for CachedToolSet<S> {
    fn name(&self) -> &str {
        self.set.name()
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(async move {
            // The tools of one user must not be cached for another one.
            let list = || async {
                let empty = RunContext::new();
                self.set.tools(empty.read_only()).await
            };
            self.current_listing().get_or_try_init(list).await.cloned()
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        self.set.close()
    }

    fn attached(&self, announcer: ToolSetNotifier) {
        let tools = Arc::downgrade(&self.tools);
        self.set.attached(ToolSetNotifier::new(move || {
            if let Some(tools) = tools.upgrade() {
                let new = Arc::default();
                let _before =
                    std::mem::replace(&mut *tools.lock().unwrap_or_else(PoisonError::into_inner), new);
            }
            announcer.announce();
        }));
    }

    fn is_prefixed(&self) -> bool {
        self.set.is_prefixed()
    }

    fn request_hooks(&self) -> Vec<SharedRequestHook> {
        self.set.request_hooks()
    }
}

impl<S: ToolSet> fmt::Debug for CachedToolSet<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_listed = self.current_listing().initialized();
        f.debug_struct("CachedToolSet").field("name", &self.name()).field("is_listed", &is_listed).finish()
    }
}
