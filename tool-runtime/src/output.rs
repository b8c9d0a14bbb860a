//! The output of a tool: content for the model, a structured value, details for the user interface, and actions.
//!
//! A [`ToolOutput`] has blocks of [`Content`]: text, images, audio and [`Resource`]s, with binary data in a [`Blob`]. A tool
//! may return raw [`Bytes`], whose media type is detected. [`Actions`] ask the caller to act, for instance to end the run. A
//! tool that returns a [`Stream`] reports its items while it runs.

#[doc(inline)]
pub use tool_core::{Actions, Blob, Bytes, Content, Resource, ResourceBody, Stream, ToolOutput};
