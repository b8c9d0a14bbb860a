//! The commands `serve` and `mcp` for [`tool-cli`](tool_cli).
//!
//! ```no_run
//! use tool_cli::Cli;
//! use tool_mcp::cli::{Mcp, Serve};
//! use tool_runtime::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     Cli::new().command(Serve::new()).command(Mcp).main()
//! }
//! ```
//!
//! | command | does |
//! | --- | --- |
//! | `serve` | serves the tools of the program over the standard streams; `--http 127.0.0.1:3001` over streamable HTTP, under the path `/mcp` |
//! | `mcp list SERVER` | lists the tools of a server; `--json` writes their definitions as received; `--header 'Name: value'` adds an HTTP header |
//! | `mcp call SERVER TOOL ARGUMENTS` | calls a tool of a server; `--json` writes the result as received; `--header` as above |
//!
//! `SERVER` is a command line, a URL, or a name in the `mcpServers` of `--config FILE`. Without `--config`, `./.mcp.json` is
//! read if it exists; a word that is no name in it is a command. A server that a command line starts has the environment of
//! this program; one of a file has what [`Process`](crate::client::Process) describes. Text of
//! servers is escaped, as [`tool_cli`] describes. [`server_arguments`] and [`server_config`] are these arguments for other commands.
//!
//! # Guards
//!
//! `serve` serves [`Program::executor`](tool_cli::Program::executor): rules, policies, hooks, limits and timeouts of
//! [`Cli::executor`](tool_cli::Cli::executor) apply to remote calls. An approver of the program decides on calls that
//! require approval; without one, they ask the user of the client by elicitation.

mod mcp;
mod serve;
mod target;

pub use self::{
    mcp::Mcp,
    serve::Serve,
    target::{server_arguments, server_config},
};
