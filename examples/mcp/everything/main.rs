//! A server with each feature of the protocol: the fixture of the official conformance suite.
//!
//! ```sh
//! cargo run --bin mcp-everything -- --http 127.0.0.1:3001    # serves http://127.0.0.1:3001/mcp; port 0 is any free one
//! cargo run --bin mcp-everything -- --stdio
//! cargo run --bin mcp-everything --features postgres -- --http ADDRESS DATABASE_URL KEY_FILE    # one of several processes behind a balancer
//! ```
//!
//! Its items are those of a catalogue. `content` has the kinds of results, `reports` progress and log lines, `questions` and `rounds` questions
//! to the client, `resources` and `prompts` what a server offers beside tools, `changes` lists that change, `tasks` long-running calls,
//! and `schema` schemas of others.

#![allow(deprecated, reason = "roots are deprecated (SEP-2577), and part of every revision in force")]

mod changes;
mod content;
mod prompts;
mod questions;
mod reports;
mod resources;
mod rounds;
mod schema;
mod tasks;

use std::{env, sync::Arc};

use tokio::net::TcpListener;
use tool_kit::{catalogue::Catalogue, mcp::serve_catalogue};
#[cfg(feature = "postgres")]
use tool_mcp::server::HttpConfig;
use tool_mcp::server::{Caller, HttpServer};
use tool_runtime::{CancellationToken, Toolbox, prelude::*};

use self::changes::Lists;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let lists = Arc::new(Lists::default());
    let tools = Registry::builder()
        .discover()
        .provide_per_run::<Caller>()
        .provide_shared(Arc::clone(&lists))
        .build()?;
    let catalogue = Catalogue::of_tools(Toolbox::from_registry(&tools));
    prompts::add_prompts(&catalogue)?;
    resources::add_resources(&catalogue)?;
    // The template.
    catalogue.add_discovered(&tools)?;
    lists.set_catalogue(catalogue.clone());
    let server = serve_catalogue(&catalogue).named("mcp-everything", env!("CARGO_PKG_VERSION"));

    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--stdio"] => Ok(server.serve_stdio().await?),
        ["--http", address] => serve(server.http()?, address).await,
        #[cfg(feature = "postgres")]
        ["--http", address, database, key_file] => {
            let key = tool_runtime::open_calls::ProgramKey::load_or_create(key_file)?;
            let cluster = tool_mcp::server::Cluster::connect(database, key).await?;
            serve(server.http_with(HttpConfig::new().cluster(cluster))?, address).await
        }
        _ => anyhow::bail!("usage: mcp-everything --stdio | --http ADDRESS"),
    }
}

async fn serve(server: HttpServer, address: &str) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    Ok(server.serve(listener, on_ctrl_c()).await?)
}

/// A token that Ctrl-C cancels.
fn on_ctrl_c() -> CancellationToken {
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopped.cancel();
        }
    });
    stop
}
