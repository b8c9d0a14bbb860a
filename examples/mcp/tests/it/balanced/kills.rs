//! Many calls while processes are killed.

use std::{collections::BTreeSet, env, fs, path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinSet};

use super::Balanced;

/// The calls of one kill.
const CALLS_PER_KILL: usize = 50;
/// The calls in flight.
const MAX_CALLS: usize = 16;
/// The time after which a request hangs.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A client with sessions, whose requests are sent once.
struct Client {
    http: reqwest::Client,
    url: String,
    sessions: Vec<String>,
}

/// The answer to a call as its client sees it.
#[derive(Debug, PartialEq)]
enum CallEnd {
    Answered(Value),
    /// The process has ended, says the server.
    Refused(String),
    /// The connection or the stream ended.
    Lost,
}

impl Client {
    async fn open(url: &str, sessions: usize) -> Self {
        let http = reqwest::Client::builder().timeout(MAX_WAIT).build().unwrap();
        let mut client = Self { http, url: url.to_owned(), sessions: Vec::new() };
        for _ in 0..sessions {
            let initialize = json!({
                "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "kills", "version": "1" }
                }
            });
            let opened = client.post(&initialize).send().await.unwrap();
            let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
            opened.text().await.unwrap();
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            let sent = client.post(&initialized).header("mcp-session-id", &session).send().await.unwrap();
            assert_eq!(sent.status(), 202);
            client.sessions.push(session);
        }
        client
    }

    fn post(&self, message: &Value) -> reqwest::RequestBuilder {
        let request = self.http.post(&self.url).header("accept", "application/json, text/event-stream");
        request.header("content-type", "application/json").body(message.to_string())
    }

    /// Calls a tool in a session, or without one in every second call.
    async fn call(&self, number: usize, tool: &str, arguments: Value) -> CallEnd {
        let mut message = json!({
            "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": { "name": tool, "arguments": arguments }
        });
        let session = &self.sessions[number / 2 % self.sessions.len()];
        if number.is_multiple_of(2) {
            let request = self.post(&message).header("mcp-protocol-version", "2025-11-25");
            let (end, last) = read_end(request.header("mcp-session-id", session)).await;
            let Some(last) = last.filter(|_| end == CallEnd::Lost) else { return end };
            // The rest of the stream, at any process.
            let resumed = self.http.get(&self.url).header("accept", "text/event-stream");
            let resumed =
                resumed.header("mcp-protocol-version", "2025-11-25").header("mcp-session-id", session);
            return read_end(resumed.header("last-event-id", last)).await.0;
        }
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "kills", "version": "1" },
        });
        let request = self.post(&message).header("mcp-protocol-version", "2026-07-28");
        read_end(request.header("mcp-method", "tools/call").header("mcp-name", tool)).await.0
    }
}

/// Sends a request, and returns its end and the id of the last event of its stream.
async fn read_end(request: reqwest::RequestBuilder) -> (CallEnd, Option<String>) {
    let mut response = match request.send().await {
        Ok(response) if response.status().is_success() => response,
        // The balancer has no answer for the client.
        Ok(response) => {
            assert!(response.status().is_server_error(), "{response:?}");
            return (CallEnd::Lost, None);
        }
        Err(error) => {
            assert!(!error.is_timeout(), "{error}");
            return (CallEnd::Lost, None);
        }
    };
    let mut text = String::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        text += std::str::from_utf8(&chunk).unwrap();
    }
    let last = text.lines().rev().find_map(|line| line.strip_prefix("id:")).map(|id| id.trim().to_owned());
    // An answer is one JSON text, or the event of a stream.
    let lines = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
    let answer = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()).find(Value::is_object);
    let end = match answer {
        None => CallEnd::Lost,
        Some(answer) => match answer["error"]["message"].as_str() {
            Some(problem) => CallEnd::Refused(problem.to_owned()),
            None => CallEnd::Answered(answer["result"].clone()),
        },
    };
    (end, last)
}

/// Begins calls, kills a process in the middle, and returns the number and the end of each call.
async fn call_and_kill(balanced: &mut Balanced, client: &Arc<Client>, kill: usize) -> Vec<(usize, CallEnd)> {
    let permits = Arc::new(Semaphore::new(MAX_CALLS));
    let mut calls = JoinSet::new();
    for number in kill * CALLS_PER_KILL..(kill + 1) * CALLS_PER_KILL {
        let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
        let client = Arc::clone(client);
        calls.spawn(async move {
            let end = client.call(number, "write_note", json!({ "text": number.to_string() })).await;
            drop(permit);
            (number, end)
        });
        if number % CALLS_PER_KILL == CALLS_PER_KILL / 2 {
            balanced.kill_process(kill % 3);
        }
    }
    let ends = calls.join_all().await;
    balanced.wait_for_start(kill % 3);
    ends
}

/// `KILLS` processes are killed, by default 20.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "some minutes: a process counts as ended after a while; `.ci/slow` runs it"]
async fn each_call_takes_effect_at_most_once_while_processes_are_killed_and_every_session_goes_on() {
    let Some(mut balanced) = Balanced::start() else { return };
    let kills = env::var("KILLS").map_or(20, |kills| kills.parse().unwrap());
    let client = Arc::new(Client::open(&balanced.url, 8).await);
    let mut ends = Vec::new();
    for kill in 0..kills {
        ends.extend(call_and_kill(&mut balanced, &client, kill).await);
        balanced.wait_for_calls(kill % 3);
    }
    let written = fs::read_to_string(Path::new(&balanced.key).with_file_name("notes.txt")).unwrap();
    let lines: Vec<usize> = written.lines().map(|line| line.parse().unwrap()).collect();
    let effects: BTreeSet<_> = lines.iter().copied().collect();
    assert_eq!(effects.len(), lines.len(), "a call took effect twice: {lines:?}");
    let (mut answered, mut refused) = (0, 0);
    for (number, end) in &ends {
        match end {
            CallEnd::Answered(_) => {
                answered += 1;
                assert!(effects.contains(number), "the call {number} was answered, and has no effect");
            }
            CallEnd::Refused(problem) => {
                refused += 1;
                assert!(problem.contains("ended before its answer"), "{problem}");
            }
            CallEnd::Lost => {}
        }
    }
    println!(
        "{} calls, {kills} processes killed: {answered} answered, {refused} with an error of the server, {} lost, {} effects",
        ends.len(),
        ends.len() - answered - refused,
        effects.len()
    );
    assert!(ends.len() - answered <= kills * MAX_CALLS, "only calls in flight have no answer");
    for session in 0..client.sessions.len() {
        let end = client.call(2 * session, "process_id", json!({})).await;
        assert!(matches!(end, CallEnd::Answered(_)), "the session goes on: {end:?}");
    }
}
