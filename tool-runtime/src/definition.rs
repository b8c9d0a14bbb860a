//! The trait behind every tool, and the definition of a tool: name, description, schemas and metadata.
//!
//! Most tools come of the attribute [`tool`](macro@crate::tool) or of a [`ToolBuilder`](crate::ToolBuilder). A type that
//! implements [`Tool`](crate::Tool) by hand describes itself by a [`ToolDefinition`](crate::ToolDefinition) and
//! returns a [`Prepared`] call.

#[doc(inline)]
pub use tool_core::{
    Checks, Confirmation, ContentHash, FunctionTool, InvalidHash, InvalidName, Merge, Metadata, Method,
    Permission, PrepareArguments, Prepared, Retry, Tool, ToolDefinition, ToolName,
};
