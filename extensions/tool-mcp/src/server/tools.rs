//! The source of a server's tools.

use rmcp::ErrorData;
use tool_runtime::{
    Executor, Registry, RunContext, Toolbox,
    executor::{ExecutorError, RunSettings},
};

use super::approval::ByElicitation;

/// The tools that a server offers: a [`Registry`], an [`Executor`], a [`Toolbox`], or a toolbox with the executor whose
/// settings its calls have.
///
/// Calls of a registry or a toolbox have the default settings of an executor. If the executor has no approver, calls that
/// require an approval ask the user of the client, by elicitation.
#[derive(Debug, Clone)]
pub struct ServedTools {
    executor: Executor,
    toolbox: Option<Toolbox>,
}

impl From<Registry> for ServedTools {
    fn from(tools: Registry) -> Self {
        Self { executor: Executor::new(tools), toolbox: None }
    }
}

impl From<Executor> for ServedTools {
    fn from(executor: Executor) -> Self {
        Self { executor, toolbox: None }
    }
}

impl From<Toolbox> for ServedTools {
    fn from(toolbox: Toolbox) -> Self {
        Self { executor: Executor::new(Registry::default()), toolbox: Some(toolbox) }
    }
}

impl From<(Toolbox, Executor)> for ServedTools {
    fn from((toolbox, executor): (Toolbox, Executor)) -> Self {
        Self { executor, toolbox: Some(toolbox) }
    }
}

impl ServedTools {
    /// Adds the approver that asks the user of the client, unless the program has one.
    pub(super) fn with_approver(mut self) -> Result<Self, ExecutorError> {
        if self.executor.approver().is_none() {
            let settings = RunSettings::new().approver(ByElicitation);
            self.executor = self.executor.with_settings(&RunContext::new(), settings)?;
        }
        Ok(self)
    }

    /// The tools that change, if they do.
    pub(super) fn toolbox(&self) -> Option<&Toolbox> {
        self.toolbox.as_ref()
    }

    /// The tools that stay the same for all runs; `None` for a toolbox.
    pub(super) fn fixed(&self) -> Option<&Registry> {
        self.toolbox.is_none().then(|| self.executor.tools())
    }

    /// Returns `true` if there may be a long-running tool: tools of a toolbox come and go.
    pub(super) fn has_long_running(&self) -> bool {
        let mut definitions = self.fixed().map(|tools| tools.definitions().iter());
        definitions.as_mut().is_none_or(|it| it.any(|definition| definition.metadata().is_long_running()))
    }

    /// Returns the executor of `run`: for a toolbox, with its tools for this run.
    pub(super) async fn executor(&self, run: &RunContext) -> Result<Executor, ErrorData> {
        let Some(toolbox) = &self.toolbox else { return Ok(self.executor.clone()) };
        let unusable = |error: &dyn std::error::Error| {
            tracing::error!(error = %error, "the tools of the server cannot be listed");
            ErrorData::internal_error("the tools of the server cannot be listed", None)
        };
        let snapshot = toolbox.snapshot(run).await.map_err(|error| unusable(&error))?;
        self.executor.with_tools(snapshot.into_tools()).map_err(|error| unusable(&error))
    }
}
