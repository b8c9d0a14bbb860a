//! The tools of a server as tools of the program.
//!
//! [`ServerConfig`] says how one server is reached; [`McpToolSet`] is its tools as a
//! [`ToolSet`](tool_runtime::ToolSet), for a [`Toolbox`](tool_runtime::Toolbox). [`McpServers`] reads the servers of an
//! `mcpServers` file.
//!
//! # Connections
//!
//! All tools of a server share one connection, and calls run at the same time. It is made when it is first needed, or by
//! [`McpToolSet::connect`]. After it was lost, calls fail, unless the configuration allows to
//! [reconnect](ServerConfig::reconnect).
//!
//! # Trust
//!
//! Names, descriptions, schemas, hints and results of a server are its own words. Hints decide about repeated calls only
//! ([`McpToolSetBuilder::conservative`] reads missing ones with care), a definition that changes is detected by
//! [pins](McpToolSetBuilder::pins), and
//! [`ToolSetExt::confirmed`](tool_runtime::toolset::ToolSetExt::confirmed) asks a person before a call. What a server may
//! cause has [limits](ServerLimits): the size and duration of a listing, its questions, its reconnections.
//!
//! # Malformed answers
//!
//! Answers are read part by part. A part that cannot be read costs itself, and has a
//! [diagnostic](McpToolSet::diagnostics): a hint is ignored, a block of a result, a message of a prompt and a document
//! of a resource become their JSON as text, a malformed error still ends its request. Whatever a server answers to a
//! call is its result, since the server has done the work.

mod announcements;
mod builder;
mod call;
mod config;
mod connection;
mod connector;
mod definitions;
mod error;
#[cfg(feature = "server")]
mod forwarded_questions;
mod handler;
#[cfg(feature = "http")]
mod headers;
mod limits;
mod listing;
mod notices;
#[cfg(feature = "auth")]
mod oauth;
mod page;
mod pins;
mod prompts_and_resources;
mod questions;
mod requests;
mod servers;
mod set;
mod shared_connection;
mod tool;
mod tool_list;
mod transport;

use tool_runtime::{ErrorKind, ToolError, guard::catch_async};

#[cfg(feature = "cli")]
pub(crate) use self::error::error_chain;
#[cfg(feature = "http")]
pub use self::headers::HeaderRequest;
#[cfg(feature = "auth")]
pub use self::oauth::OAuth;
pub use self::{
    builder::McpToolSetBuilder,
    config::{
        ConfigError, DEFAULT_TIMEOUT, DEFAULT_TOTAL_TIMEOUT, Endpoint, Process, ServerConfig, Transport,
    },
    error::{ClientError, ClientErrorKind},
    handler::{Question, ServerChange},
    limits::ServerLimits,
    servers::{McpServers, ServersError},
    set::McpToolSet,
};
pub(crate) use self::{config::url_without_secrets, tool::tool_output};

/// Awaits the future of a callback of the program; a panic is an error. Its message is not shown, since callbacks hold
/// secrets.
pub(crate) async fn run_callback<T, F>(callback: impl FnOnce() -> F) -> Result<T, ToolError>
where
    F: Future<Output = Result<T, ToolError>>,
{
    let panicked = |_| ToolError::new(ErrorKind::Panicked, "a callback of the program panicked");
    catch_async(callback).await.map_err(panicked)?
}
