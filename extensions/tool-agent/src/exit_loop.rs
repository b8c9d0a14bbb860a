//! The tool by which a model ends a loop of agents.

use serde::Deserialize;
use tool_runtime::{
    ToolBuilder, ToolContext, ToolError, ToolOutput,
    builder::ClosureTool,
    definition::Metadata,
    output::Actions,
    schemars::{self, JsonSchema},
};

/// The arguments of the tool: none.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
#[serde(deny_unknown_fields)]
struct NoArguments {}

/// Returns the tool `exit_loop`, by which the model of a member ends the nearest [loop](crate::Agent::repeat) around its agent.
///
/// It has no arguments and an empty result, and requests to [escalate](Actions::escalate) and to skip the summarization: the
/// member ends with the call. In a run without a loop, the run ends, too.
///
/// # Examples
///
/// ```
/// use tool_agent::exit_loop;
/// use tool_runtime::prelude::*;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let tools = Registry::builder().add(exit_loop()).build()?;
/// let result = tools.call("exit_loop", "{}").await?;
/// assert!(result.content().is_empty());
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[must_use]
pub fn exit_loop() -> ClosureTool {
    let metadata = Metadata { read_only: Some(true), idempotent: Some(true), ..Metadata::default() };
    let actions = || Actions { escalate: true, skip_summarization: true, ..Actions::default() };
    ToolBuilder::new("exit_loop")
        .description("Ends the loop. Call it only if the work is complete and needs no further iteration.")
        .metadata(metadata)
        .expect_handler(move |_: NoArguments, _: ToolContext| async move {
            Ok::<_, ToolError>(ToolOutput::new([]).with_actions(actions()))
        })
}
