//! The output of a tool: content for the model, a structured value, details for the user interface, and actions.

#[doc(inline)]
pub use tool_core::{Actions, Blob, Bytes, Content, Resource, ResourceBody, Stream, ToolOutput};
