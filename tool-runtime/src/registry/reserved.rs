//! Names that are for one thing alone.

use tool_core::ToolName;

use super::{Facts, Problem};

/// The name of the tool by which a model gives its final, structured output. It is reserved for the genuine one, added by
/// [`RegistryBuilder::output_tool`](crate::registry::RegistryBuilder::output_tool) or
/// [`Toolbox::set_output_tool`](crate::Toolbox::set_output_tool).
pub const OUTPUT_TOOL: &str = "submit_output";

/// The names that no set of a program may have: sets of the framework, and tools that a user adds at run time.
pub const RESERVED_SETS: [&str; 2] = ["builtin", "user"];

/// Refuses a tool with a reserved name, or of a reserved set.
pub(super) fn refuse_tool(tool: &Facts) -> Option<Problem> {
    let definition = &tool.definition;
    let name = definition.name();
    if *name == *OUTPUT_TOOL {
        return Some(Problem::ReservedName { name: name.to_string(), site: tool.site });
    }
    let toolset = definition.metadata().toolset.as_deref()?;
    is_reserved_set(toolset)
        .then(|| Problem::ReservedSet { toolset: toolset.to_owned(), tool: Some(name.to_string()) })
}

/// Refuses an output tool of another name.
pub(super) fn refuse_output_tool(name: &ToolName) -> Option<Problem> {
    (*name != *OUTPUT_TOOL).then(|| Problem::OutputToolName { name: name.to_string() })
}

/// Refuses a set with a reserved name.
pub(crate) fn refuse_set(name: &str) -> Result<(), Problem> {
    match is_reserved_set(name) {
        true => Err(Problem::ReservedSet { toolset: name.to_owned(), tool: None }),
        false => Ok(()),
    }
}

fn is_reserved_set(name: &str) -> bool {
    RESERVED_SETS.contains(&name)
}
