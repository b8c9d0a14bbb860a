//! A server of one tool over the standard streams.
//!
//! ```sh
//! cargo run --bin mcp-stdio    # waits for a client
//! ```

use tool_runtime::prelude::*;

/// Adds two numbers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    Ok(tool_mcp::server::serve_stdio(Registry::discover()?).await?)
}
