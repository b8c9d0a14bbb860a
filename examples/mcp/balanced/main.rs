//! A server of several processes behind a load balancer without sticky sessions, which share a database of Postgres and a key.
//!
//! ```sh
//! apt-get install haproxy postgresql    # both are started by the script, as any user
//! examples/mcp/balanced/run             # a database, three processes and `haproxy`, until Ctrl-C
//! ```
//!
//! In another terminal, several times, with the URL that the script prints last:
//!
//! ```sh
//! cargo run --bin mcp-command -- mcp call http://127.0.0.1:PORT/mcp process_id
//! ```
//!
//! The command opens a session, whose requests come to one process after the other, and prints the process of its call. It does so, too, after one
//! of the processes was killed (`kill -9`), which the script starts again. `haproxy.cfg` is the configuration of the balancer.

use std::env;

use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tool_mcp::server::{Cluster, HttpConfig, McpServer};
use tool_runtime::{CancellationToken, open_calls::ProgramKey, prelude::*};

/// Returns the id of the process that runs the call.
#[tool(read_only)]
fn process_id() -> u32 {
    std::process::id()
}

/// Adds two numbers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, database, key_file] = &arguments[..] else {
        anyhow::bail!("usage: mcp-balanced ADDRESS DATABASE_URL KEY_FILE");
    };
    let key = ProgramKey::load_or_create(key_file)?;
    let cluster = Cluster::connect(database, key).await?;
    // For other machines, `hosts` has the names by which clients reach the balancer.
    let config = HttpConfig::new().cluster(cluster.clone());
    let server = McpServer::new(Registry::discover()?).named("balanced", "1.0.0").http_with(config)?;
    let listener = TcpListener::bind(address).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let served = server.serve(listener, stop_token()?).await;
    // The others learn at once that this process has ended.
    cluster.close().await;
    Ok(served?)
}

/// Returns a token that `SIGTERM` cancels, the signal of service managers.
fn stop_token() -> anyhow::Result<CancellationToken> {
    let (stop, mut terminate) = (CancellationToken::new(), signal(SignalKind::terminate())?);
    let stopped = stop.clone();
    tokio::spawn(async move {
        terminate.recv().await;
        stopped.cancel();
    });
    Ok(stop)
}
