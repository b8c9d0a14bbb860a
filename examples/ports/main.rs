//! Introductory programs of other frameworks, ported to this one, each in a module. Without an argument, the program
//! prints the number of lines of code of each port.
//!
//! ```sh
//! cargo run -p examples --bin ports
//! cargo run -p examples --bin ports -- trpc_calculator
//! ```

mod adk_confirmation;
mod code_lines;
mod or_search;
mod phi_tool;
mod trpc_calculator;
mod trpc_retry;
mod trpc_toolsets;

use std::env;

use self::code_lines::code_lines;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match env::args().nth(1).as_deref() {
        None => lines(),
        Some("adk_confirmation") => adk_confirmation::main().await?,
        Some("or_search") => or_search::main().await?,
        Some("phi_tool") => phi_tool::main().await?,
        Some("trpc_calculator") => trpc_calculator::main().await?,
        Some("trpc_retry") => trpc_retry::main().await?,
        Some("trpc_toolsets") => trpc_toolsets::main().await?,
        Some(other) => anyhow::bail!("there is no port named `{other}`"),
    }
    Ok(())
}

fn lines() {
    for (name, source) in [
        ("adk_confirmation", include_str!("adk_confirmation.rs")),
        ("or_search", include_str!("or_search.rs")),
        ("phi_tool", include_str!("phi_tool.rs")),
        ("trpc_calculator", include_str!("trpc_calculator.rs")),
        ("trpc_retry", include_str!("trpc_retry.rs")),
        ("trpc_toolsets", include_str!("trpc_toolsets.rs")),
    ] {
        println!("{name}: {} lines", code_lines(source));
    }
}
