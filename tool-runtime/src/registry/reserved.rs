//! Reserved names.

use tool_core::ToolName;

use super::{BuildDiagnostic, ToolFacts};

/// The name of the tool by which a model submits its final, structured output. It is reserved for the tool of
/// [`RegistryBuilder::output_tool`](crate::registry::RegistryBuilder::output_tool) or
/// [`Toolbox::set_output_tool`](crate::Toolbox::set_output_tool).
pub const OUTPUT_TOOL: &str = "submit_output";

/// Toolset names that a program may not use: the framework's own tools, and tools that a user adds at run time.
pub const RESERVED_SETS: [&str; 2] = ["builtin", "user"];

/// Rejects a tool with a reserved name or toolset.
pub(super) fn refuse_reserved_tool(tool: &ToolFacts) -> Option<BuildDiagnostic> {
    let definition = &tool.definition;
    let name = definition.name();
    if *name == *OUTPUT_TOOL {
        return Some(BuildDiagnostic::ReservedName { name: name.to_string(), site: tool.site });
    }
    let toolset = definition.metadata().toolset.as_deref()?;
    is_reserved_set(toolset)
        .then(|| BuildDiagnostic::ReservedSet { toolset: toolset.to_owned(), tool: Some(name.to_string()) })
}

/// Rejects an output tool with another name.
pub(super) fn refuse_misnamed_output_tool(name: &ToolName) -> Option<BuildDiagnostic> {
    (*name != *OUTPUT_TOOL).then(|| BuildDiagnostic::OutputToolName { name: name.to_string() })
}

/// Rejects a toolset with a reserved name.
pub(crate) fn refuse_reserved_set(name: &str) -> Result<(), BuildDiagnostic> {
    match is_reserved_set(name) {
        true => Err(BuildDiagnostic::ReservedSet { toolset: name.to_owned(), tool: None }),
        false => Ok(()),
    }
}

fn is_reserved_set(name: &str) -> bool {
    RESERVED_SETS.contains(&name)
}
