//! Runs of an agent below the call of another tool.

use tool_runtime::{ToolContext, ToolError, ToolOutput, executor::CallGuards};

use super::{AgentTool, child_call::ChildCall};
use crate::{
    Message,
    runner::{RunAdditions, boxed},
};

impl AgentTool {
    /// Runs the agent below a call, as a call of this tool does, for a message, which may have images and documents: for a tool that chooses
    /// the agent or the message of each of its calls by itself.
    ///
    /// The calls of the run pass `guards` beside those of the agent's tools; with `None`, the plugins of the call. A tool whose agents may have the tools
    /// of the run above passes `cx.get::<CallGuards>()`, so that it is no way around a rule.
    ///
    /// If the run waits for answers, the result has an [operation id](ToolOutput::operation_id), and no content; return it as it is. When the call is
    /// continued, its body runs again, and the run continues: the message has no effect then.
    ///
    /// # Errors
    ///
    /// Returns an error if the run ends without an answer, or would exceed the [maximum depth](tool_runtime::RunContext::with_max_depth).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, AgentTool, ScriptedModel, model::Reply};
    /// use tool_runtime::{executor::CallGuards, prelude::*};
    ///
    /// /// Translates a text.
    /// #[tool]
    /// async fn translate(cx: &ToolContext, language: String, text: String) -> Result<String, ToolError> {
    ///     // In a program: a model for each language.
    ///     let model = ScriptedModel::new([Reply::text("Bonjour.")]);
    ///     let agent = Agent::builder("translator", model).instruction(format!("Translate to {language}.")).build();
    ///     let tool = AgentTool::new(agent.map_err(ToolError::from_source)?).map_err(ToolError::from_source)?;
    ///     Ok(tool.run_below(cx, text, cx.get::<CallGuards>()).await?.text().into_owned())
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let tools = Registry::builder().tool::<translate>().build()?;
    /// let translated = tools.call("translate", json!({ "language": "French", "text": "Hello." })).await?;
    /// assert_eq!(translated.text(), "Bonjour.");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub async fn run_below(
        &self,
        cx: &ToolContext,
        message: impl Into<Message>,
        guards: Option<&CallGuards>,
    ) -> Result<ToolOutput, ToolError> {
        let call = match guards {
            None => ChildCall::begin_run(&self.settings, cx, message)?,
            Some(guards) => {
                let additions = RunAdditions::below_call(Some(guards.clone()));
                ChildCall::begin_run_with_additions(&self.settings, cx, additions, message)?
            }
        };
        boxed(|| call.run_to_result()).await
    }
}
