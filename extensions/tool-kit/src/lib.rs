//! Prompts and resources beside the tools of [`tool_runtime`].
//!
//! | item | what it is | made by |
//! | --- | --- | --- |
//! | [`Prompt`](prompt::Prompt) | a described template of messages | [`PromptFile`](prompt::PromptFile), [`PromptFolder`](prompt::PromptFolder), [`text_prompt`](prompt::text_prompt) |
//! | [`ReadableResource`](resource::ReadableResource) | a readable object with a URI | [`StoredResource`](resource::StoredResource), [`FileResource`](resource::FileResource), [`live`](resource::live) |
//!
//! With the feature `mcp`, the module `mcp` offers both to the clients of an MCP server. Needs Rust 1.89, as the YAML library does.

#[cfg(feature = "mcp")]
pub mod mcp;
mod names;
pub mod prompt;
pub mod resource;
