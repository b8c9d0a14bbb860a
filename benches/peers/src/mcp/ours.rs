//! The server of `tool-mcp`.

use tool_mcp::server::McpServer;
use tool_runtime::{CancellationToken, prelude::*};

use crate::Outcome;

/// Adds two numbers.
#[tool(register = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Says it again.
#[tool(register = false)]
fn echo(text: String) -> String {
    text
}

pub async fn serve(transport: &str) -> Outcome<()> {
    let tools = Registry::builder().tool::<add>().tool::<echo>().build()?;
    if transport == "stdio" {
        return Ok(tool_mcp::server::serve_stdio(tools).await?);
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let stop = CancellationToken::new();
    let asked = stop.clone();
    tokio::spawn(async move {
        drop(tokio::signal::ctrl_c().await);
        asked.cancel();
    });
    McpServer::new(tools).http()?.serve(listener, stop).await?;
    Ok(())
}
