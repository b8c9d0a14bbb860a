//! A command line whose tools are also a server.
//!
//! ```sh
//! cargo run --bin mcp-command -- call greet --name Ada
//! cargo run --bin mcp-command -- serve                    # waits for a client
//! cargo run --bin mcp-command -- mcp list "npx -y @modelcontextprotocol/server-everything"
//! ```

use std::{process::ExitCode, time::Duration};

use tool_cli::Cli;
use tool_mcp::cli::{Mcp, Serve};
use tool_runtime::{
    policy::{Rule, Rules},
    prelude::*,
};

/// Greets a person.
#[tool(read_only)]
fn greet(
    /// Name of the person.
    name: String,
) -> String {
    // A server's standard output carries the protocol; this line goes to the standard error.
    println!("greeting {name}");
    format!("Hello, {name}!")
}

/// Removes a person from the list of guests.
#[tool(destructive)]
fn remove(
    /// Name of the person.
    name: String,
) -> String {
    format!("{name} is not a guest any more")
}

fn main() -> ExitCode {
    Cli::new()
        .about("Keeps a list of guests.")
        .executor(|builder| {
            let rules = Rules::new([Rule::deny("remove").at("/name", "Ada").reason("Ada is the host")]);
            builder.rules(rules).timeout(Duration::from_secs(30))
        })
        .command(Serve::new().configure(|server| server.named("guests", env!("CARGO_PKG_VERSION"))))
        .command(Mcp)
        .main()
}
