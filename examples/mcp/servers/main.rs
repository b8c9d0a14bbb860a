//! The tools of all servers of an `mcpServers` file, as desktop clients and editors write it.
//!
//! ```sh
//! cargo run --bin mcp-servers -- servers.json                            # lists the tools
//! cargo run --bin mcp-servers -- servers.json files__read_file '{ .. }'  # calls one
//! ```

use std::{env, process::ExitCode};

use anyhow::Context as _;
use tool_mcp::client::McpServers;
use tool_runtime::{Toolbox, policy::Escape, prelude::*, toolset::ToolSetExt};

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let file = arguments.first().context("usage: mcp-servers FILE [TOOL [ARGUMENTS]]")?;
    let servers = McpServers::from_file(file)?;
    for diagnostic in servers.diagnostics() {
        eprintln!("{diagnostic}");
    }
    let toolbox = Toolbox::new();
    for name in servers.names() {
        // `files__read_file` is the tool `read_file` of the server `files`, which starts when the tools are listed.
        match servers.toolset(name) {
            Ok(server) => drop(toolbox.add_toolset(server.prefixed())?),
            Err(error) => eprintln!("{error}; the server is left out"),
        }
    }
    let run = RunContext::new();
    let snapshot = toolbox.snapshot(&run).await?;
    // Servers that cannot be reached are left out.
    for diagnostic in snapshot.diagnostics() {
        eprintln!("{diagnostic}");
    }
    let tools = snapshot.into_tools();
    let mut exit = ExitCode::SUCCESS;
    match arguments.get(1) {
        None => tools.definitions().iter().for_each(|tool| println!("{}", tool.name())),
        Some(tool) => {
            let call = ToolCall::new(&**tool, arguments.get(2).cloned().unwrap_or_else(|| "{}".to_owned()));
            let outcomes = Executor::new(tools).run(vec![call]).await;
            let result = outcomes[0].result().context("the call has no result")?;
            // The text is the server's, and may contain escape sequences.
            let text = Escape::LINES.text(&result.text());
            match result.is_error() {
                false => println!("{text}"),
                true => {
                    eprintln!("{text}");
                    exit = ExitCode::FAILURE;
                }
            }
        }
    }
    for set in toolbox.toolsets() {
        set.close().await?;
    }
    Ok(exit)
}
