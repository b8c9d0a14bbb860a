use std::{fmt, sync::Arc};

use tool_core::Tool;

use super::Visibility;
use crate::builder::ExternalTool;

/// Additional tools and visibility of one run, beside its [`Toolbox`](crate::Toolbox).
///
/// A tool whose name is taken is dropped, with a notice in the [`Snapshot`](crate::toolbox::Snapshot).
/// Precedence: the tools of the toolbox, visible or hidden; additional tools; external tools.
///
/// # Examples
///
/// ```
/// use tool_runtime::{
///     RunContext, Toolbox, builder::ExternalTool, prelude::*,
///     toolbox::{RunTools, Visibility},
/// };
///
/// let (front_end, _) = ExternalTool::list(&json!([{ "name": "pick_color" }]));
/// let additions = RunTools::new().external(front_end).show(Visibility::all().except(["shell"]));
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let run = RunContext::new();
/// let snapshot = Toolbox::new().snapshot_with(&run, &additions).await?;
/// assert!(snapshot.tools().get("pick_color").is_some());
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use = "it does nothing until a snapshot is taken with it"]
pub struct RunTools {
    pub(super) additional: Vec<Arc<dyn Tool>>,
    pub(super) external: Vec<Arc<dyn Tool>>,
    pub(super) visibility: Visibility,
}

impl RunTools {
    /// Creates an empty value: no additional tools, everything visible.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds tools that run in this process.
    pub fn additional(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.additional.extend(tools);
        self
    }

    /// Adds external tools, which are declared here and executed by the caller. No visibility hides them.
    pub fn external(mut self, tools: impl IntoIterator<Item = ExternalTool>) -> Self {
        self.external.extend(tools.into_iter().map(|tool| Arc::new(tool.external()) as Arc<dyn Tool>));
        self
    }

    /// Sets the visibility of this run, in addition to the visibility of the toolbox. Default: all tools.
    pub fn show(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }
}

impl fmt::Debug for RunTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |tools: &[Arc<dyn Tool>]| -> Vec<_> {
            tools.iter().map(|tool| tool.definition().name().clone()).collect()
        };
        f.debug_struct("RunTools")
            .field("additional", &names(&self.additional))
            .field("external", &names(&self.external))
            .field("visibility", &self.visibility)
            .finish()
    }
}
