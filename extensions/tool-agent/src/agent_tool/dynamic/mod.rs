//! An agent whose tools and instruction the model above chooses, inside a boundary.

mod boundary;
mod builder;
mod fields;
mod skill_boundary;

use std::{borrow::Cow, fmt};

use tool_runtime::{
    Content, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, definition::Prepared,
    executor::CallGuards, schema::Arguments,
};

use self::{
    boundary::ToolBoundary,
    fields::RequestFields,
    skill_boundary::{ChosenSkills, SkillBoundary},
};
pub use self::{builder::DynamicAgentBuilder, fields::RequestField};
use super::{
    AgentToolSettings,
    child_call::{ChildCall, RunningChild},
};
use crate::{
    Agent,
    runner::{RunAdditions, boxed},
};

/// A tool by which a model starts an agent for one request, and chooses its instruction and its tools inside a boundary.
///
/// The arguments are `request`, and optionally `instruction`, for this run only and after the instruction of the template,
/// and `tools`: all tools inside the boundary if it is omitted, none for an empty list, or exactly those that are named.
/// Unknown names are left out, with a warning in front of the result; if no name is known, the result is an error that lists
/// the tools.
///
/// If the program [shows the field](DynamicAgentBuilder::show), the model chooses skills, too, by `skills`: of those that the agent of the call has, all if
/// it is omitted, none for an empty list, or exactly those that are named. An unknown name is an error that lists the skills. A skill with scripts that no
/// tool of the agent runs has a warning in front of the result. The `allowed-tools` of a skill narrow the tools of the agent and never widen them, and
/// the skills that are active in the run of the call still narrow its calls. Skills of the template are replaced.
///
/// The boundary is by default the tools that the run of the call has, as its model sees them: without this tool,
/// `transfer_to_agent` and external tools. The program may [set another](DynamicAgentBuilder::boundary).
///
/// The template is an agent that fixes everything else: the model, the executor with its policies, hooks, limits; its own
/// tools are not offered. The calls of the agent pass the executor of the template, and all [guards](CallGuards) of the call
/// of this tool in addition: what a rule, a policy, a hook or a person forbids there is forbidden here. Only an approver of
/// the call above can approve a call; if the template has one, too, both must. Without one above, the question stays open,
/// even if the template has an approver. If a rule or a policy asks, the call fails instead, unless the executor of the
/// template has [pending approvals](tool_runtime::executor::ExecutorBuilder::pending_approvals).
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, DynamicAgentTool, Runner, ScriptedModel, model::Reply};
/// use tool_runtime::prelude::*;
///
/// /// Counts the words of a text.
/// #[tool(read_only)]
/// fn count(text: String) -> usize {
///     text.split_whitespace().count()
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let helper = ScriptedModel::new([
///     Reply::call("count", json!({ "text": "to be or not to be" })),
///     Reply::text("Six words."),
/// ]);
/// let helper = DynamicAgentTool::builder(Agent::builder("helper", helper).build()?).build()?;
///
/// let model = ScriptedModel::new([
///     Reply::call("dynamic_agent", json!({ "request": "Count the words of: to be or not to be", "tools": ["count"] })),
///     Reply::text("Six."),
/// ]);
/// let tools = Registry::builder().tool::<count>().add(helper).build()?;
/// let runner = Runner::new(Agent::builder("clerk", model).tools(tools).build()?);
/// assert_eq!(runner.run("How many words?").answer().await?, "Six.");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct DynamicAgentTool {
    definition: ToolDefinition,
    settings: AgentToolSettings,
    boundary: ToolBoundary,
    skills: SkillBoundary,
    fields: RequestFields,
}

impl DynamicAgentTool {
    /// Creates a builder of a tool whose agents have the model, the executor, the hooks, the limits and the instruction of
    /// `template`.
    pub fn builder(template: Agent) -> DynamicAgentBuilder {
        DynamicAgentBuilder::new(template)
    }

    async fn call(&self, arguments: Arguments<'_>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (child, warnings) = boxed(|| self.begin_child_run(arguments, cx)).await?;
        let output = boxed(|| child.run_to_result()).await?;
        // A run that waits has no result yet.
        Ok(match warnings.is_empty() || output.operation_id().is_some() {
            true => output,
            false => prepend_warnings(output, warnings),
        })
    }

    /// Begins the run of a call; returns it with the warnings about the arguments.
    async fn begin_child_run(
        &self,
        arguments: Arguments<'_>,
        cx: &ToolContext,
    ) -> Result<(Box<RunningChild<'_>>, Vec<String>), ToolError> {
        let request = self.fields.read_arguments(&self.definition.canonical(arguments)?.into_text())?;
        let offered = self.boundary.tools_for_call(cx).await?;
        let selection = boundary::select_tools(&offered, request.tools.as_deref())?;
        let run = cx.run().map(AsRef::as_ref);
        let skills = self.skills.select_skills(&self.fields, &request, run, &selection.tools).await?;
        let mut additions = RunAdditions::below_call(cx.get::<CallGuards>().cloned());
        additions.replace_tools(selection.tools);
        let mut warnings: Vec<_> = selection.warning.into_iter().collect();
        if let Some(ChosenSkills { skills, warnings: of_skills }) = skills {
            additions.replace_skills(self.settings.runner.agent(), skills.as_ref());
            warnings.extend(of_skills.into_iter().map(|warning| format!("Warning: {warning}")));
        }
        if let Some(instruction) = request.instruction.filter(|it| !it.trim().is_empty()) {
            additions.add_instruction(instruction);
        }
        Ok((ChildCall::begin_run_with_additions(&self.settings, cx, additions, request.request)?, warnings))
    }
}

/// Returns the result of a run with warnings in front of it.
fn prepend_warnings(mut output: ToolOutput, warnings: Vec<String>) -> ToolOutput {
    let mut content: Vec<_> = warnings.into_iter().map(Content::text).collect();
    content.extend(match output.content() {
        Cow::Borrowed(blocks) => blocks.to_vec(),
        Cow::Owned(blocks) => blocks,
    });
    output.set_content(content);
    output
}

impl Tool for DynamicAgentTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, move |arguments, cx: &ToolContext| Box::pin(self.call(arguments, cx))))
    }
}

impl fmt::Debug for DynamicAgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicAgentTool").field("definition", &self.definition).finish_non_exhaustive()
    }
}
