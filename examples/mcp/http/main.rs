//! A server over HTTP whose callers have tokens.
//!
//! ```sh
//! cargo run --bin mcp-http -- 127.0.0.1:3001
//! cargo run --bin mcp-servers -- servers.json secure__notes    # in servers.json, with the header "Bearer ada"
//! ```
//!
//! A real server validates tokens of an authorization server; this one knows two users by their token.

use std::{
    env,
    sync::{Mutex, PoisonError},
};

use tokio::net::TcpListener;
use tool_mcp::server::{HttpConfig, Identity, McpServer, ResourceServer, TokenError};
use tool_runtime::{CancellationToken, prelude::*};

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

/// Lists the notes.
#[tool(read_only)]
fn notes(notes: &Notes) -> Vec<String> {
    notes.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Writes a note.
#[tool]
fn write_note(
    notes: &Notes,
    caller: &Identity,
    /// The text of the note.
    text: String,
) -> Result<String, ToolError> {
    if !caller.has_scope("notes:write") {
        return Err(ToolError::new(ErrorKind::Denied, "the token does not permit to write notes"));
    }
    let note = format!("{}: {text}", caller.subject);
    notes.0.lock().unwrap_or_else(PoisonError::into_inner).push(note.clone());
    Ok(note)
}

/// The user of a token.
fn user(token: &str) -> Result<Identity, TokenError> {
    match token {
        "ada" => Ok(Identity::new("Ada").scopes(["notes:read", "notes:write"])),
        "bob" => Ok(Identity::new("Bob").scopes(["notes:read"])),
        _ => Err(TokenError::Invalid("the token is unknown".to_owned())),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3001".to_owned());
    let listener = TcpListener::bind(address).await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let tools =
        Registry::builder().discover().provide(Notes::default()).provide_per_run::<Identity>().build()?;
    let protection =
        ResourceServer::new(&url, user).issuer("https://login.example.com").require(["notes:read"]);
    let server =
        McpServer::new(tools).named("notes", "1.0.0").http_with(HttpConfig::new().protect(protection))?;
    println!("{url}");
    Ok(server.serve(listener, CancellationToken::new()).await?)
}
