//! Prompts and resources beside the tools of [`tool_runtime`], and a catalogue of all three.
//!
//! | item | what it is | made by |
//! | --- | --- | --- |
//! | [`Prompt`](prompt::Prompt) | a described template of messages | [`#[prompt]`](macro@prompt), [`PromptFile`](prompt::PromptFile), [`PromptFolder`](prompt::PromptFolder), [`text_prompt`](prompt::text_prompt) |
//! | [`ReadableResource`](resource::ReadableResource) | a readable object with a URI | [`#[resource]`](macro@resource), [`StoredResource`](resource::StoredResource), [`FileResource`](resource::FileResource), [`live`](resource::live) |
//! | [`ResourceTemplate`](resource::ResourceTemplate) | resources whose URIs have one form | [`#[resource]`](macro@resource) with variables |
//!
//! A [`Catalogue`](catalogue::Catalogue) lists them beside the tools of the program and the items of [connectors](catalogue::Connector), and
//! finds them by name, namespace and URI. With the feature `mcp`, the module `mcp` serves a catalogue, and single prompts and resources, to the
//! clients of an MCP server, and connects to other servers. With the feature `session`, the module `session` has the prompts and resources that
//! users stored. With the feature `agent`, `agent::AgentDelegate` runs prompts by agents. The feature `cli` adds commands to `tool-cli`. Needs
//! Rust 1.89, as the YAML library does.

#[cfg(feature = "agent")]
pub mod agent;
mod candidates;
pub mod catalogue;
#[cfg(feature = "cli")]
pub mod cli;
/// The examples of the guide.
#[cfg(all(doctest, feature = "agent", feature = "cli"))]
#[doc = include_str!("../../../tool-runtime/src/docs/guide/toolkit.md")]
pub mod guide {}
pub mod function;
#[cfg(feature = "mcp")]
pub mod mcp;
mod names;
mod problem;
pub mod prompt;
pub mod resource;
#[cfg(feature = "session")]
pub mod session;

// A macro and a module may have one name: `use tool_kit::prompt` imports both, and so does `use tool_kit::resource`.
#[doc = include_str!("docs/prompt.md")]
pub use tool_macros::prompt;
#[doc = include_str!("docs/resource.md")]
pub use tool_macros::resource;

/// Support code for the expansions of the attributes; not public API.
#[doc(hidden)]
pub mod __private {
    pub use tool_runtime::__private::*;

    pub use crate::{
        function::{
            PromptHandle, PromptSpec, ResourceHandle, ResourceSpec, TemplateHandle, TemplateSpec,
            prompt_output, resource_output, resource_probe,
        },
        prompt::PromptThinking,
        prompt_outcome, resource_outcome,
    };
}
