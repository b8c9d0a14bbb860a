//! The Model Context Protocol for [`tool_runtime`], on the official SDK [`rmcp`].
//!
//! | module | feature | provides |
//! | --- | --- | --- |
//! | [`server`] | `server` | the tools of the program as a server: [`serve_stdio`](server::serve_stdio), streamable HTTP; with `postgres`, by several processes |
//! | [`client`] | `client` | the tools of a server as tools of the program: `McpToolSet` |
//! | [`broker`] | `client` | four tools for the tools of many servers: `McpBroker` |
//! | [`cli`] | `cli` | the commands `serve` and `mcp` for `tool-cli` |
//!
//! ```toml
//! [dependencies]
//! anyhow = "1"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! tool-mcp = { path = "../tool-runtime/extensions/tool-mcp" } # features = ["cli"] for the commands
//! tool-runtime = { path = "../tool-runtime/tool-runtime" }
//! ```
//!
//! `http` adds streamable HTTP to server and client, `auth` OAuth of the client. `client`, `http` and `server` are on by
//! default; a program that serves the standard streams only takes `default-features = false, features = ["server"]`.
//!
//! # A server in three lines
//!
//! ```no_run
//! use tool_runtime::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! #[tokio::main]
//! async fn main() -> anyhow::Result<()> {
//!     Ok(tool_mcp::server::serve_stdio(Registry::discover()?).await?)
//! }
//! ```
//!
//! Try it: `npx -y @modelcontextprotocol/inspector --cli target/debug/PROGRAM --method tools/list`.
//!
//! # The tools of a server
//!
//! ```no_run
//! use tool_mcp::client::{McpToolSet, Process, ServerConfig};
//! use tool_runtime::{Executor, RunContext, ToolCall, Toolbox, toolset::ToolSetExt};
//!
//! # async fn example() -> anyhow::Result<()> {
//! let server = Process::new("npx").args(["-y", "@modelcontextprotocol/server-memory"]);
//! let memory = McpToolSet::connect(ServerConfig::new("memory", server)).await?;
//! let toolbox = Toolbox::new();
//! toolbox.add_toolset(memory.clone().prefixed())?;
//!
//! let run = RunContext::new();
//! let executor = Executor::new(toolbox.snapshot(&run).await?.into_tools());
//! let outcomes = executor.batch(vec![ToolCall::new("memory__read_graph", "{}")]).with_run(run).run().await;
//! # let _ = outcomes;
//! memory.close().await;
//! # Ok(())
//! # }
//! ```
//!
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]
// Sampling, roots and logging are deprecated (SEP-2577), and part of every revision in force.
#![allow(deprecated)]

#[cfg(any(feature = "client", feature = "server"))]
mod content;

#[cfg(feature = "client")]
pub mod broker;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod server;

pub use rmcp;

/// The examples of the README.
#[cfg(all(doctest, feature = "client", feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the guide about servers, clients and brokers.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../../../tool-runtime/src/docs/guide/mcp.md")]
struct Guide;
