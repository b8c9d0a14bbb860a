use std::{fmt, sync::Arc};

/// Announces that the tools of a toolset changed; passed to the toolset by
/// [`attached`](super::ToolSet::attached). Cheap to clone.
///
/// # Examples
///
/// ```
/// use std::sync::{Arc, OnceLock};
///
/// use tool_runtime::{
///     BoxFuture, Tool, ToolError, ToolSet, Toolbox, context::ReadonlyContext, toolset::ToolSetNotifier,
/// };
///
/// /// Tools of another program, which notifies of changes.
/// #[derive(Default)]
/// struct Remote(OnceLock<ToolSetNotifier>);
///
/// impl ToolSet for Remote {
///     fn name(&self) -> &str {
///         "remote"
///     }
///
///     fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
///         Box::pin(async { Ok(Vec::new()) })
///     }
///
///     fn attached(&self, announcer: ToolSetNotifier) {
///         let _ = self.0.set(announcer);
///     }
/// }
///
/// let (toolbox, remote) = (Toolbox::new(), Arc::new(Remote::default()));
/// toolbox.add_toolset(Arc::clone(&remote))?;
/// let mut listener = toolbox.subscribe();
/// remote.0.get().unwrap().announce();
/// assert_eq!(listener.try_next().unwrap()?.to_string(), "the tools of the set `remote` changed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ToolSetNotifier {
    announce: Arc<dyn Fn() + Send + Sync>,
    is_attached: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl ToolSetNotifier {
    /// Creates a notifier that calls `announce` for each change; for wrappers of toolsets, and for tests.
    pub fn new(announce: impl Fn() + Send + Sync + 'static) -> Self {
        Self { announce: Arc::new(announce), is_attached: Arc::new(|| true) }
    }

    /// Sets the function that returns `false` once the notifier has no effect any more. Default: it has one for ever.
    #[must_use]
    pub fn attached_while(mut self, is_attached: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.is_attached = Arc::new(is_attached);
        self
    }

    /// Announces that the tools of the toolset changed: the next snapshot lists them again. Has no effect after
    /// the toolset is removed from the toolbox.
    pub fn announce(&self) {
        (self.announce)();
    }

    /// Returns `false` after the toolset is removed from the toolbox: drop the notifier then.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        (self.is_attached)()
    }
}

impl fmt::Debug for ToolSetNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolSetNotifier")
    }
}
