//! Introductory programs about agents of other frameworks, ported to this one, each in a module; those without an agent are in
//! `examples/ports`. Without an argument, the program prints the number of lines of code of each port.
//!
//! ```sh
//! cargo run --bin agent-ports
//! cargo run --bin agent-ports -- trpc_calculator
//! ```

mod adk_agents;
#[path = "../../ports/code_lines.rs"]
mod code_lines;
mod or_agent;
mod phi_sub_agent;
mod trpc_calculator;
mod trpc_toolsets;

use std::env;

use self::code_lines::code_lines;

/// The ports, their sources, and the number of lines of the original, if its guide shows a whole program.
const PORTS: [(&str, &str, Option<usize>); 5] = [
    ("adk_agents", include_str!("adk_agents.rs"), None),
    ("or_agent", include_str!("or_agent.rs"), None),
    ("phi_sub_agent", include_str!("phi_sub_agent.rs"), None),
    ("trpc_calculator", include_str!("trpc_calculator.rs"), Some(60)),
    ("trpc_toolsets", include_str!("trpc_toolsets.rs"), None),
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match env::args().nth(1).as_deref() {
        None => print_lines(),
        Some("adk_agents") => adk_agents::main().await?,
        Some("or_agent") => or_agent::main().await?,
        Some("phi_sub_agent") => phi_sub_agent::main().await?,
        Some("trpc_calculator") => trpc_calculator::main().await?,
        Some("trpc_toolsets") => trpc_toolsets::main().await?,
        Some(other) => anyhow::bail!("there is no port named `{other}`"),
    }
    Ok(())
}

fn print_lines() {
    for (name, source, original) in PORTS {
        let lines = code_lines(source);
        match original {
            Some(original) => println!("{name}: {lines} lines, {original} in the original"),
            None => println!("{name}: {lines} lines"),
        }
    }
}
