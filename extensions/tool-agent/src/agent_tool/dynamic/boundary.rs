//! The tools that a dynamic agent may have, and the selection of a model from them.

use std::{collections::BTreeSet, sync::Arc};

use tool_runtime::{
    BoxFuture, Registry, ToolContext, ToolDefinition, ToolError, guard::catch_async, registry::AvailableTools,
};

/// The maximum number of names that a schema lists.
const MAX_LISTED_NAMES: usize = 256;

/// The maximum number of names in a message.
const MAX_SHOWN_NAMES: usize = 32;

/// The maximum length of a name in a message.
const MAX_SHOWN_NAME_CHARS: usize = 64;

/// The tool that passes control to another agent, which belongs to the agent of its run.
const TRANSFER_TOOL: &str = "transfer_to_agent";

/// The tools that an agent may have.
#[derive(Clone, Default)]
pub(super) enum ToolBoundary {
    /// Those of the run of the call.
    #[default]
    OfRun,
    Fixed(Registry),
    PerCall(Arc<BoundaryFn>),
}

type BoundaryFn = dyn Fn(ToolContext) -> BoxFuture<'static, Result<Registry, ToolError>> + Send + Sync;

/// The tools that a model chose.
#[derive(Debug)]
pub(super) struct ToolSelection {
    pub(super) tools: Registry,
    /// A warning about names that are not known.
    pub(super) warning: Option<String>,
}

impl ToolBoundary {
    /// Returns the names that the schema of the tool `starting_tool` lists, sorted.
    pub(super) fn listed_tool_names(&self, starting_tool: &str) -> Option<Vec<String>> {
        let Self::Fixed(tools) = self else { return None };
        let tools = offered_tools(available_tools_of(tools)?, starting_tool);
        let names: Vec<_> = tools.all_definitions().iter().map(|it| it.name().to_string()).collect();
        (1..=MAX_LISTED_NAMES).contains(&names.len()).then_some(names)
    }

    /// Returns the tools for a call.
    pub(super) async fn tools_for_call(&self, cx: &ToolContext) -> Result<Registry, ToolError> {
        let starting_tool = cx.tool_name().as_str();
        let tools = match self {
            Self::OfRun => return Ok(offered_tools_or_none(cx.get::<AvailableTools>(), starting_tool)),
            Self::Fixed(tools) => tools.clone(),
            Self::PerCall(make) => {
                catch_async(|| make(cx.clone())).await.unwrap_or_else(|panic| Err(panic.into()))?
            }
        };
        Ok(offered_tools_or_none(available_tools_of(&tools), starting_tool))
    }
}

/// Returns the tools of a registry as a call of it sees them.
fn available_tools_of(tools: &Registry) -> Option<&AvailableTools> {
    tools.provided().get::<AvailableTools>()
}

fn offered_tools_or_none(available: Option<&AvailableTools>, starting_tool: &str) -> Registry {
    available.map(|available| offered_tools(available, starting_tool)).unwrap_or_default()
}

/// Returns the tools that an agent may have, started by the tool `starting_tool`.
fn offered_tools(available: &AvailableTools, starting_tool: &str) -> Registry {
    available.user_tools(|tool| {
        let name = tool.name().as_str();
        name != starting_tool && name != TRANSFER_TOOL
    })
}

/// Returns the tools with these names; all for `None`.
///
/// # Errors
///
/// Returns an error that lists the tools if there are names, and none of them is known.
pub(super) fn select_tools(offered: &Registry, names: Option<&[String]>) -> Result<ToolSelection, ToolError> {
    let Some(names) = names else { return Ok(ToolSelection { tools: offered.clone(), warning: None }) };
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| offered.get(name).is_some());
    if known.is_empty() && !unknown.is_empty() {
        let available =
            quoted_short_names(offered.all_definitions().iter().map(ToolDefinition::name).map(AsRef::as_ref));
        let available = if offered.is_empty() { "none".to_owned() } else { available };
        let message =
            format!("unknown tools: {}; available: {available}", quoted_short_names(unknown.iter().copied()));
        return Err(ToolError::bad_parameter(message));
    }
    let warning = (!unknown.is_empty()).then(|| {
        format!(
            "Warning: the agent had no tools {}, which are unknown.",
            quoted_short_names(unknown.iter().copied())
        )
    });
    // The model sees the tools that were named.
    Ok(ToolSelection { tools: offered.resolve(known).0.without_deferral(), warning })
}

/// Returns names for a message.
fn quoted_short_names<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let more = names.len().saturating_sub(MAX_SHOWN_NAMES);
    let shown = names.take(MAX_SHOWN_NAMES).map(|name| {
        let text: String = name.chars().take(MAX_SHOWN_NAME_CHARS).collect();
        format!("`{}`", text.escape_debug())
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_message_are_bounded_in_number_and_length() {
        let quoted = |names: &[String]| quoted_short_names(names.iter().map(String::as_str));
        let names = |count: usize| (0..count).map(|at| format!("t{at}")).collect::<Vec<_>>();
        assert_eq!(quoted(&[]), "");
        assert_eq!(quoted(&names(2)), "`t0`, `t1`");
        let all = quoted(&names(MAX_SHOWN_NAMES));
        assert!(all.ends_with("`t30`, `t31`"), "{all}");
        assert_eq!(quoted(&names(MAX_SHOWN_NAMES + 1)), format!("{all} and 1 more"));
        let long = "x".repeat(MAX_SHOWN_NAME_CHARS);
        assert_eq!(
            quoted(&[long.clone(), format!("{long}y"), "a\nb".to_owned()]),
            format!("`{long}`, `{long}`, `a\\nb`")
        );
    }
}
