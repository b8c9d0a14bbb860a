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
//! cargo run --bin mcp-command -- mcp call http://127.0.0.1:PORT/mcp write_note '{"text": "milk"}'
//! cargo run --bin mcp-command -- mcp call http://127.0.0.1:PORT/mcp notes
//! ```
//!
//! Each command opens a session, whose requests come to one process after the other. They do the same after one of the processes was killed
//! (`kill -9`), which the script starts again. `haproxy.cfg` is the configuration of the balancer.

use std::{
    env,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

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

/// The file of the notes, which the processes share.
struct NoteFile(PathBuf);

/// Writes a note. If its process ends meanwhile, the client receives an error, and the call is not run again.
#[tool]
fn write_note(
    notes: &NoteFile,
    /// The text of the note, one line.
    text: String,
) -> io::Result<()> {
    let mut file = File::options().create(true).append(true).open(&notes.0)?;
    // One write: the other processes append, too.
    file.write_all(format!("{}\n", text.replace('\n', " ")).as_bytes())
}

/// Lists the notes.
#[tool(read_only)]
fn notes(notes: &NoteFile) -> io::Result<Vec<String>> {
    let text = if notes.0.exists() { fs::read_to_string(&notes.0)? } else { String::new() };
    Ok(text.lines().map(str::to_owned).collect())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, database, key_file] = &arguments[..] else {
        anyhow::bail!("usage: mcp-balanced ADDRESS DATABASE_URL KEY_FILE");
    };
    let key = ProgramKey::load_or_create(key_file)?;
    let cluster = Cluster::connect(database, key).await?;
    let notes = NoteFile(Path::new(key_file).with_file_name("notes.txt"));
    let tools = Registry::builder().discover().provide(notes).build()?;
    // For other machines, `hosts` has the names by which clients reach the balancer.
    let config = HttpConfig::new().cluster(cluster.clone());
    let server = McpServer::new(tools).named("balanced", "1.0.0").http_with(config)?;
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
