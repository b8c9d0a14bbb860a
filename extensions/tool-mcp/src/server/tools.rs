//! The source of a server's tools.

use std::collections::BTreeSet;

use rmcp::ErrorData;
use tool_runtime::{
    Executor, Registry, RunContext, Toolbox,
    executor::{ExecutorError, RunSettings},
};

use super::{approval::ByElicitation, diagnostics::DiagnosticLog};

/// The tools that a server offers: a [`Registry`], an [`Executor`], a [`Toolbox`], or a toolbox with the executor whose
/// settings its calls have.
///
/// Calls of a registry or a toolbox have the default settings of an executor. If the executor has no approver, calls that
/// require an approval ask the user of the client, by elicitation.
#[derive(Debug, Clone)]
pub struct ServedTools {
    executor: Executor,
    toolbox: Option<Toolbox>,
    pub(super) diagnostics: DiagnosticLog,
}

impl From<Registry> for ServedTools {
    fn from(tools: Registry) -> Self {
        Self::new(Executor::new(tools), None)
    }
}

impl From<Executor> for ServedTools {
    fn from(executor: Executor) -> Self {
        Self::new(executor, None)
    }
}

impl From<Toolbox> for ServedTools {
    fn from(toolbox: Toolbox) -> Self {
        Self::new(Executor::new(Registry::default()), Some(toolbox))
    }
}

impl From<(Toolbox, Executor)> for ServedTools {
    fn from((toolbox, executor): (Toolbox, Executor)) -> Self {
        Self::new(executor, Some(toolbox))
    }
}

impl ServedTools {
    fn new(executor: Executor, toolbox: Option<Toolbox>) -> Self {
        Self { executor, toolbox, diagnostics: DiagnosticLog::default() }
    }

    /// Reports the diagnostics that do not depend on the run.
    pub(super) fn report_fixed_diagnostics(&self) {
        if self.toolbox.is_none() {
            self.diagnostics.report(self.executor.diagnostics(), true);
        }
    }

    /// Returns the version of the package that the server `name` belongs to: the one of that name, or else the only one that has tools.
    pub(super) fn package_version(&self, name: &str) -> Option<&'static str> {
        let tools = self.fixed_tools()?;
        let sites = tools.all_definitions().iter().filter_map(|tool| tools.get(tool.name().as_str())?.site());
        let packages: BTreeSet<_> = sites.filter_map(|site| Some((site.package?, site.version?))).collect();
        let is_named = |package: &str| package.replace('-', "_") == name.replace('-', "_");
        let named = packages.iter().find(|(package, _)| is_named(package));
        let only = || packages.first().filter(|_| packages.len() == 1);
        named.or_else(only).map(|(_, version)| *version)
    }

    /// Adds the approver that asks the user of the client, unless the program has one.
    pub(super) fn with_default_approver(mut self) -> Result<Self, ExecutorError> {
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
    pub(super) fn fixed_tools(&self) -> Option<&Registry> {
        self.toolbox.is_none().then(|| self.executor.tools())
    }

    /// Returns `true` if there may be a long-running tool: tools of a toolbox come and go.
    pub(super) fn has_long_running_tools(&self) -> bool {
        let mut definitions = self.fixed_tools().map(|tools| tools.all_definitions().iter());
        definitions.as_mut().is_none_or(|it| it.any(|definition| definition.metadata().is_long_running()))
    }

    /// Returns the executor of `run`: for a toolbox, with its tools for this run.
    pub(super) async fn executor_for(&self, run: &RunContext) -> Result<Executor, ErrorData> {
        let Some(toolbox) = &self.toolbox else { return Ok(self.executor.clone()) };
        let unusable = |error: &dyn std::error::Error| {
            tracing::error!(error = %error, "the tools of the server cannot be listed");
            ErrorData::internal_error("the tools of the server cannot be listed", None)
        };
        let snapshot = toolbox.snapshot(run).await.map_err(|error| {
            self.diagnostics.report(error.diagnostics(), false);
            unusable(&error)
        })?;
        self.diagnostics.report(snapshot.diagnostics(), false);
        let executor = self.executor.with_tools(snapshot.into_tools()).map_err(|error| unusable(&error))?;
        self.diagnostics.report(executor.diagnostics(), false);
        Ok(executor)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::time::Duration;

    use tool_runtime::policy::{Rule, Rules};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn diagnostics_of_fixed_tools_last_and_those_of_a_toolbox_are_of_a_run() {
        let executor = || {
            let executor = Executor::builder(Registry::default());
            executor.rules(Rules::new([Rule::deny("bash")])).build().unwrap()
        };
        let fixed = ServedTools::from(executor());
        fixed.report_fixed_diagnostics();
        tokio::time::advance(Duration::from_secs(3_600)).await;
        let messages: Vec<_> = fixed.diagnostics.list().into_iter().map(|it| it.message).collect();
        assert_eq!(messages, ["the rule `deny bash` fits no tool"]);

        let changing = ServedTools::from((Toolbox::new(), executor()));
        changing.report_fixed_diagnostics();
        assert!(changing.diagnostics.list().is_empty());
        changing.executor_for(&RunContext::new()).await.unwrap();
        assert_eq!(changing.diagnostics.list().len(), 1);
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert!(changing.diagnostics.list().is_empty());
    }

    #[tokio::test]
    async fn the_approver_of_the_program_is_asked_and_without_one_the_user_of_the_client() {
        use tool_runtime::{
            policy::{Approval, ApprovalRequest},
            prelude::*,
        };
        #[tool_args]
        struct NoArgs {}
        let own = |_: &ApprovalRequest| Approval::Rejected("not today".to_owned());
        for (has_approver, expected) in
            [(true, "not today"), (false, "the client cannot ask its user for the approval")]
        {
            let tool =
                ToolBuilder::new("t").description("Does.").body(tool_body!(|_: NoArgs| "text")).unwrap();
            let tools = Registry::builder().add(tool).build().unwrap();
            let executor = Executor::builder(tools).rules(Rules::new([Rule::ask("t")]));
            let executor = if has_approver { executor.approver(own) } else { executor };
            let served = ServedTools::from(executor.build().unwrap()).with_default_approver().unwrap();
            let run = RunContext::new();
            let executor = served.executor_for(&run).await.unwrap();
            let outcomes =
                executor.batch(vec![ToolCall::new("t", serde_json::json!({}))]).with_run(run).run().await;
            let text = format!("{:?}", outcomes[0].result().unwrap());
            assert!(text.contains(expected), "{text}");
        }
    }
}
