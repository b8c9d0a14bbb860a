//! The tools of an agent.

use tool_runtime::{
    Executor, Registry, RunContext, ToolDefinition, ToolError, Toolbox,
    executor::ExecutorError,
    registry::BuildError,
    toolbox::{RunDiagnostic, RunTools, Snapshot},
};

use super::framework::FrameworkTools;

/// The tools of an agent: a [`Registry`], an [`Executor`], a [`Toolbox`], or a toolbox with the executor whose settings
/// its calls have. The tools of a toolbox are listed again before each request to the model.
#[derive(Debug, Clone)]
pub struct AgentTools {
    executor: Executor,
    toolbox: Option<Toolbox>,
    /// Tools that are added to those of each snapshot of the toolbox.
    added: Vec<Registry>,
    /// The tools of the framework, beside those of the program.
    pub(crate) framework: FrameworkTools,
}

/// The tools of a run cannot be listed.
#[derive(Debug)]
pub(crate) enum ListingError {
    Tools(BuildError),
    Executor(ExecutorError),
    /// A tool of this crate is not valid.
    Control(ToolError),
}

impl Default for AgentTools {
    fn default() -> Self {
        Registry::default().into()
    }
}

impl From<Registry> for AgentTools {
    fn from(tools: Registry) -> Self {
        Self::new(Executor::new(tools), None)
    }
}

impl From<Executor> for AgentTools {
    fn from(executor: Executor) -> Self {
        Self::new(executor, None)
    }
}

impl From<Toolbox> for AgentTools {
    fn from(toolbox: Toolbox) -> Self {
        Self::new(Executor::new(Registry::default()), Some(toolbox))
    }
}

impl From<(Toolbox, Executor)> for AgentTools {
    fn from((toolbox, executor): (Toolbox, Executor)) -> Self {
        Self::new(executor, Some(toolbox))
    }
}

impl AgentTools {
    /// Returns the same tools with those of `added`. For a toolbox, they are added to each of its snapshots.
    ///
    /// # Errors
    ///
    /// Returns an error if two tools have one name, if a value is not provided, or if the limits of the executor do not fit.
    pub(crate) fn with_tools_of(mut self, added: Registry) -> Result<Self, ListingError> {
        if self.toolbox.is_some() {
            self.added.push(added);
            return Ok(self);
        }
        let tools = self.executor.tools().with_tools_of(&added).map_err(ListingError::Tools)?;
        self.executor = self.executor.with_tools(tools).map_err(ListingError::Executor)?;
        Ok(self)
    }

    fn new(executor: Executor, toolbox: Option<Toolbox>) -> Self {
        Self { executor, toolbox, added: Vec::new(), framework: FrameworkTools::default() }
    }

    /// Keeps the tools of the framework when the tools of the program are set.
    pub(super) fn with_framework(self, framework: FrameworkTools) -> Self {
        Self { framework, ..self }
    }

    /// Returns the tools that do not depend on a run.
    pub(super) fn known_tools(&self) -> &Registry {
        self.executor.tools()
    }

    /// Returns the definitions of the tools that are known before any run, deferred ones included: without those of a toolbox.
    pub(crate) fn definitions(&self) -> &[ToolDefinition] {
        self.known_tools().all_definitions()
    }

    /// Returns the executor with the current tools for `run`, and diagnostics about tools that it lost and rules without
    /// effect.
    pub(crate) async fn executor(
        &self,
        run: &RunContext,
    ) -> Result<(Executor, Vec<RunDiagnostic>), ListingError> {
        let listed = match &self.toolbox {
            None => (self.executor.clone(), self.executor.diagnostics().to_vec()),
            Some(toolbox) => {
                self.executor_of_snapshot(toolbox.snapshot(run).await.map_err(ListingError::Tools)?)?
            }
        };
        self.with_framework_tools(run, listed)
    }

    /// Returns the executor as [`executor`](Self::executor) does, with the additional tools of `run`.
    pub(crate) async fn executor_with_run_tools(
        &self,
        run: &RunContext,
        additions: &RunTools,
    ) -> Result<(Executor, Vec<RunDiagnostic>), ListingError> {
        let known = self.known_tools();
        let toolbox = self.toolbox.clone().unwrap_or_else(|| Toolbox::from_registry(known));
        let snapshot = toolbox.snapshot_with(run, additions).await.map_err(ListingError::Tools)?;
        let (mut executor, diagnostics) = self.executor_of_snapshot(snapshot)?;
        if known.definitions().len() < known.len() {
            // A toolbox defers no tools.
            let tools = executor.tools().with_deferred(|tool| known.is_deferred(tool.name().as_str()));
            executor = executor.with_tools(tools).map_err(ListingError::Executor)?;
        }
        self.with_framework_tools(run, (executor, diagnostics))
    }

    /// Returns the executor with `tools` in place of the agent's, and `framework` in place of its tools of the framework.
    pub(crate) fn executor_of(
        &self,
        run: &RunContext,
        tools: Registry,
        framework: &FrameworkTools,
    ) -> Result<(Executor, Vec<RunDiagnostic>), ListingError> {
        let executor = self.executor.with_tools(tools).map_err(ListingError::Executor)?;
        // Its rules may be about tools that are not here.
        framework.add_to(executor, run)
    }

    fn with_framework_tools(
        &self,
        run: &RunContext,
        (executor, mut diagnostics): (Executor, Vec<RunDiagnostic>),
    ) -> Result<(Executor, Vec<RunDiagnostic>), ListingError> {
        let (executor, dropped) = self.framework.add_to(executor, run)?;
        diagnostics.extend(dropped);
        Ok((executor, diagnostics))
    }

    fn executor_of_snapshot(
        &self,
        snapshot: Snapshot,
    ) -> Result<(Executor, Vec<RunDiagnostic>), ListingError> {
        let mut diagnostics = snapshot.diagnostics().to_vec();
        let with_added = |tools: Registry, added| tools.with_tools_of(added);
        let tools =
            self.added.iter().try_fold(snapshot.into_tools(), with_added).map_err(ListingError::Tools)?;
        let executor = self.executor.with_tools(tools).map_err(ListingError::Executor)?;
        diagnostics.extend_from_slice(executor.diagnostics());
        Ok((executor, diagnostics))
    }
}

impl std::fmt::Display for ListingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tools(error) => write!(f, "the tools of the run cannot be listed: {error}"),
            Self::Control(error) => write!(f, "a tool of the agent cannot be made: {}", error.reason()),
            Self::Executor(error) => write!(f, "the tools of the run cannot be executed: {error}"),
        }
    }
}
