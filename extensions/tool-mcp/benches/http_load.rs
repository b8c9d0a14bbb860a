//! The memory of a server over HTTP under load: idle sessions, heads and bodies that never end, finished tasks.
//!
//! Prints what it measures and checks nothing: `cargo bench -p tool-mcp --bench http_load`. Linux only, for the memory of a process.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a measurement fails by panicking")]

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tool_mcp::server::McpServer;
use tool_runtime::{CancellationToken, prelude::*};

/// The argument of the process that serves.
const SERVE: &str = "serve";
/// The length that the bodies that never end state, in bytes.
const STATED_BODY_BYTES: usize = 4 * 1024 * 1024;
const SESSIONS: usize = 10_000;
const BODIES: usize = 150;
const HEADS: usize = 300;
const TASKS: usize = 1_000;
/// The time that a measurement waits for the server to close connections.
const MAX_WAIT: Duration = Duration::from_secs(45);

/// Adds two numbers.
#[tool(register = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Makes a report.
#[tool(register = false, long_running)]
fn report() -> String {
    "x".repeat(1_000)
}

/// The server, in a process of its own.
struct Server {
    process: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Server {
    fn start() -> Self {
        let mut process =
            Command::new(env::current_exe().unwrap()).arg(SERVE).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { process, address: address.trim().to_owned() }
    }

    /// Returns the resident memory in KiB: now (`VmRSS`) or at most (`VmHWM`).
    fn memory(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    async fn connection(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.unwrap()
    }

    /// Returns the text of a request.
    fn request(&self, message: &Value, headers: &str) -> String {
        let body = message.to_string();
        let (address, length) = (&self.address, body.len());
        let method = message["method"].as_str().unwrap();
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\nmcp-method: {method}\r\n{headers}\r\n{body}"
        )
    }
}

/// Reads an answer up to the text `end`.
async fn read_to(connection: &mut TcpStream, end: &str) -> String {
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while !String::from_utf8_lossy(&answer).contains(end) {
        match connection.read(&mut part).await {
            Ok(length) if length > 0 => answer.extend_from_slice(&part[..length]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns the number of `connections` that the server closes, and the time until the last of them is closed.
async fn closed(connections: Vec<TcpStream>) -> (usize, Duration) {
    let start = Instant::now();
    let mut waiting = tokio::task::JoinSet::new();
    for mut connection in connections {
        waiting.spawn(async move {
            let mut answer = Vec::new();
            let end = timeout(MAX_WAIT, connection.read_to_end(&mut answer)).await;
            end.is_ok().then(|| start.elapsed())
        });
    }
    let times: Vec<_> = waiting.join_all().await.into_iter().flatten().collect();
    (times.len(), times.into_iter().max().unwrap_or_default())
}

async fn measure_sessions() {
    let server = Server::start();
    let before = server.memory("VmRSS");
    let open = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" } }
    });
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let mut opened = 0;
    for _ in 0..SESSIONS {
        let mut connection = server.connection().await;
        connection.write_all(server.request(&open, "").as_bytes()).await.unwrap();
        let answer = read_to(&mut connection, "\r\n0\r\n\r\n").await;
        let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let Some(session) = session else { break };
        let headers = format!("mcp-session-id: {session}\r\nconnection: close\r\n");
        connection.write_all(server.request(&initialized, &headers).as_bytes()).await.unwrap();
        connection.read_to_end(&mut Vec::new()).await.unwrap();
        opened += 1;
    }
    let memory = server.memory("VmRSS") - before;
    println!("idle sessions: {opened}, {} MiB, {:.1} KiB each", memory / 1024, memory as f64 / opened as f64);
}

async fn measure_bodies() {
    let server = Server::start();
    let before = server.memory("VmHWM");
    let head = server
        .request(&json!({ "method": "tools/list" }), "")
        .split_once("\r\n\r\n")
        .unwrap()
        .0
        .replace("content-length: 23", &format!("content-length: {STATED_BODY_BYTES}"));
    let part = vec![b' '; STATED_BODY_BYTES - 1];
    let mut sending = tokio::task::JoinSet::new();
    for _ in 0..BODIES {
        let (mut connection, head, part) = (server.connection().await, head.clone(), part.clone());
        sending.spawn(async move {
            connection.write_all(head.as_bytes()).await.ok();
            connection.write_all(b"\r\n\r\n").await.ok();
            connection.write_all(&part).await.ok();
            connection
        });
    }
    let connections = sending.join_all().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let memory = server.memory("VmHWM") - before;
    let (ended, time) = closed(connections).await;
    println!(
        "bodies without an end: {BODIES}, {} MiB at most, {ended} closed after {time:.1?}",
        memory / 1024
    );
}

async fn measure_heads() {
    let server = Server::start();
    let before = server.memory("VmHWM");
    let mut connections = Vec::new();
    for _ in 0..HEADS {
        let mut connection = server.connection().await;
        connection.write_all(b"POST /mcp HTTP/1.1\r\nx: ").await.unwrap();
        connection.write_all(&vec![b'x'; 300_000]).await.ok();
        connections.push(connection);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let memory = server.memory("VmHWM") - before;
    let (ended, time) = closed(connections).await;
    println!("heads without an end: {HEADS}, {} MiB at most, {ended} closed after {time:.1?}", memory / 1024);
}

async fn measure_tasks() {
    let server = Server::start();
    let before = server.memory("VmRSS");
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "report", "arguments": {}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
                "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
            },
        },
    });
    let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-name: report\r\n";
    let mut connection = server.connection().await;
    let mut started = 0;
    let begin = Instant::now();
    for _ in 0..12 * TASKS {
        connection.write_all(server.request(&call, headers).as_bytes()).await.unwrap();
        started += usize::from(read_to(&mut connection, "}").await.contains("taskId"));
    }
    let (memory, time) = (server.memory("VmRSS") - before, begin.elapsed());
    println!(
        "finished tasks of one client: {started} of {} started, {} MiB, {time:.1?}",
        12 * TASKS,
        memory / 1024
    );
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if env::args().any(|argument| argument == SERVE) {
        runtime.block_on(async {
            let tools = Registry::builder().tool::<add>().tool::<report>().build().unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            println!("{}", listener.local_addr().unwrap());
            McpServer::new(tools).http().unwrap().serve(listener, CancellationToken::new()).await.unwrap();
        });
        return;
    }
    runtime.block_on(async {
        measure_sessions().await;
        measure_bodies().await;
        measure_heads().await;
        measure_tasks().await;
    });
}
