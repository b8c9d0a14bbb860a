//! Introductory programs about toolkits of other frameworks, ported to this one, each in a module. Without an argument, the program prints the number
//! of lines of code of each port.
//!
//! ```sh
//! cargo run --bin kit-ports
//! cargo run --bin kit-ports -- gllm_toolkit
//! ```

#[path = "../../ports/code_lines.rs"]
mod code_lines;
mod gllm_toolkit;

use std::env;

use self::code_lines::code_lines;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match env::args().nth(1).as_deref() {
        None => println!("gllm_toolkit: {} lines", code_lines(include_str!("gllm_toolkit.rs"))),
        Some("gllm_toolkit") => gllm_toolkit::main().await?,
        Some(other) => anyhow::bail!("there is no port named `{other}`"),
    }
    Ok(())
}
