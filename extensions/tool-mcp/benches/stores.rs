//! The time of a call whose session and events are in the database of a cluster, as against one in the memory of its process.
//!
//! Prints what it measures, and fails if the ratio is more than [`MAX_RATIO`]: `cargo bench -p tool-mcp --features postgres --bench stores`. Needs
//! Postgres, as the tests do. `SESSION_FSYNC=on` makes its server wait for the disk.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a measurement fails by panicking")]

use std::{
    env,
    io::{BufRead as _, BufReader},
    process::{Child, Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use test_support::postgres::{Server as Postgres, new_schema, reported};
use tokio::{net::TcpListener, task::JoinSet};
use tool_mcp::server::{ClusterOptions, HttpConfig, McpServer};
use tool_runtime::{CancellationToken, open_calls::ProgramKey, prelude::*};

/// The argument of the process that serves; after it, the URL of a database and a schema.
const SERVE: &str = "serve";
/// The calls of one measurement, of which the rounds alternate between the servers.
const CALLS: usize = 400;
const ROUNDS: usize = 15;
/// The most that a call through the database takes, as against one without it.
const MAX_RATIO: f64 = 2.5;

/// Adds two numbers.
#[tool(register = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// A server in a process of its own, and a client that has a session there.
struct Served {
    process: Child,
    client: Arc<SessionClient>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Served {
    async fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        let mut process = command.arg(SERVE).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { process, client: Arc::new(SessionClient::open(url.trim()).await) }
    }

    /// Returns the mean time of a call while `in_flight` clients call one after another.
    async fn time_of_call(&self, in_flight: usize) -> Duration {
        let (mut clients, start) = (JoinSet::new(), Instant::now());
        for _ in 0..in_flight {
            let client = Arc::clone(&self.client);
            clients.spawn(async move {
                for number in 0..CALLS / in_flight {
                    client.add(number).await;
                }
            });
        }
        clients.join_all().await;
        start.elapsed() / u32::try_from(CALLS).unwrap()
    }
}

struct SessionClient {
    http: Client,
    url: String,
    session: String,
    /// The id of the next call.
    next_id: AtomicU64,
}

impl SessionClient {
    async fn open(url: &str) -> Self {
        let (http, next_id) = (Client::new(), AtomicU64::new(1));
        let mut client = Self { http, url: url.to_owned(), session: String::new(), next_id };
        let initialize = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" }
            }
        });
        let opened = client.post(&initialize).send().await.unwrap();
        client.session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        opened.text().await.unwrap();
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        client.post(&initialized).send().await.unwrap().error_for_status().unwrap();
        client
    }

    fn post(&self, message: &Value) -> RequestBuilder {
        let request = self.http.post(&self.url).header("accept", "application/json, text/event-stream");
        let request = request.header("content-type", "application/json").body(message.to_string());
        match &*self.session {
            "" => request,
            session => request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25"),
        }
    }

    async fn add(&self, number: usize) {
        let params = json!({ "name": "add", "arguments": { "a": number, "b": 1 } });
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let text = self.post(&call).send().await.unwrap().text().await.unwrap();
        assert!(text.contains(&format!("\"text\":\"{}\"", number + 1)), "{text}");
    }
}

async fn serve(database: Option<(&str, &str)>) {
    let mut config = HttpConfig::new();
    if let Some((url, schema)) = database {
        let options = ClusterOptions::new(url, ProgramKey::new([7; 32])).unwrap();
        config = config.cluster(options.schema(schema).unwrap().open().await.unwrap());
    }
    let tools = Registry::builder().tool::<add>().build().unwrap();
    let server = McpServer::new(tools).http_with(config).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}/mcp", listener.local_addr().unwrap());
    server.serve(listener, CancellationToken::new()).await.unwrap();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Prints the times of both servers, and returns their ratio.
async fn measure(without: &Served, with: &Served, in_flight: usize) -> f64 {
    let (mut times_without, mut times_with) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        times_without.push(without.time_of_call(in_flight).await);
        times_with.push(with.time_of_call(in_flight).await);
    }
    let (without, with) = (median(times_without), median(times_with));
    let ratio = with.as_secs_f64() / without.as_secs_f64();
    println!(
        "{in_flight:>2} in flight: {without:.1?} a call without stores, {with:.1?} through them: {ratio:.2}"
    );
    ratio
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [SERVE] => runtime.block_on(serve(None)),
        [SERVE, url, schema] => runtime.block_on(serve(Some((url, schema)))),
        _ => {
            let Some(postgres) = reported(Postgres::start()) else { return ExitCode::SUCCESS };
            let (url, schema) = (postgres.url(), new_schema());
            return runtime.block_on(async {
                let (without, with) = (Served::start(&[]).await, Served::start(&[&url, &schema]).await);
                // The first calls prepare statements and open connections.
                for served in [&without, &with] {
                    served.time_of_call(16).await;
                }
                let ratios = [measure(&without, &with, 1).await, measure(&without, &with, 16).await];
                match ratios.iter().all(|ratio| *ratio <= MAX_RATIO) {
                    true => ExitCode::SUCCESS,
                    false => {
                        println!("a ratio is more than {MAX_RATIO}");
                        ExitCode::FAILURE
                    }
                }
            });
        }
    }
    ExitCode::SUCCESS
}
