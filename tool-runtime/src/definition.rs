//! The trait of all tools, and the definition of a tool: name, description, schemas and metadata.
//!
//! Most tools are created by the attribute [`tool`](macro@crate::tool) or by a [`ToolBuilder`](crate::ToolBuilder). A type
//! that implements [`Tool`] by hand returns its [`ToolDefinition`] and a [`Prepared`] call.
//!
//! | type | purpose |
//! | --- | --- |
//! | [`Tool`], [`Prepared`], [`Checks`] | the trait; a validated call; the checks that a tool answers itself |
//! | [`ToolDefinition`], [`ToolName`], [`ContentHash`] | the definition, its valid name, and its hash |
//! | [`Metadata`], [`Confirmation`], [`Retry`] | hints, limits and labels |
//! | [`Redirect`], [`Redirection`] | calls that stand for calls of another tool |
//! | [`Permission`] | the decision of a permission check |
//! | [`Merge`] | merges the items of a stream into one value |
//! | [`InvalidName`], [`InvalidHash`] | errors of parsing |

#[doc(hidden)]
pub use tool_core::internals::{RemotePreparation, RemoteSteps, StepError, ToolSteps};
#[doc(inline)]
pub use tool_core::{
    Checks, Confirmation, ContentHash, FunctionTool, InvalidHash, InvalidName, Merge, Metadata, Method,
    Permission, PrepareArguments, Prepared, Redirect, Redirection, Retry, Tool, ToolDefinition, ToolName,
};
