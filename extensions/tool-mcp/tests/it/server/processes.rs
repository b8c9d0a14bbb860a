//! Two processes behind a proxy that gives each request to another one.

use std::{
    collections::BTreeSet,
    fs, io,
    path::PathBuf,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{body::Body, extract::State, response::Response};
use rmcp::model::{ClientCapabilities, ProtocolVersion};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
};
use tool_mcp::{
    client::{Endpoint, McpToolSet, ServerConfig},
    server::{HttpConfig, McpServer},
};
use tool_runtime::{CancellationToken, prelude::*};

use super::{BOTH, initialize, modern, questions, sse, stores::Directory, text};

/// Returns the id of the process.
#[tool(register = false, read_only)]
pub(super) fn process() -> u32 {
    std::process::id()
}

/// Connects to a port, and waits until the other side closes the connection.
#[tool(register = false)]
pub(super) async fn wait(port: u16) -> io::Result<u32> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.read_to_end(&mut Vec::new()).await?;
    Ok(std::process::id())
}

/// One of the processes. It ends with its standard input.
#[tokio::test]
#[ignore = "a server for other tests"]
async fn serves() {
    let directory = PathBuf::from(std::env::var_os("STORES").unwrap());
    let stores = || Directory::new(directory.clone());
    let tools = questions::builder().tool::<process>().tool::<wait>().build().unwrap();
    let events = Arc::new(stores());
    // The calls of lost streams go on, since there is a store of events.
    let config = HttpConfig::new()
        .session_store(events.clone())
        .event_store(events)
        .resume_time(Duration::from_millis(1));
    let server = McpServer::new(tools).key([7; 32]).used_states(stores()).http_with(config).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("\nserves http://{}/mcp", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let serving = server.serve(listener, stop);
    let mut input = Vec::new();
    let mut stdin = tokio::io::stdin();
    tokio::select! {
        served = serving => served.unwrap(),
        _ = stdin.read_to_end(&mut input) => std::process::exit(0),
    }
}

/// A process.
pub(super) struct Process {
    pub(super) child: Child,
    pub(super) url: String,
}

impl Process {
    /// Starts the server that `test` is.
    pub(super) async fn start(test: &str, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--ignored", "--nocapture"])
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        loop {
            let line = lines.next_line().await.unwrap().unwrap();
            if let Some(url) = line.strip_prefix("serves ") {
                return Self { child, url: url.to_owned() };
            }
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.child.id().unwrap().into()
    }
}

/// Both processes and the proxy before them.
struct Cluster {
    directory: PathBuf,
    processes: [Process; 2],
    /// The URL of the proxy.
    url: String,
    _proxy: Proxy,
    http: reqwest::Client,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.directory).unwrap();
    }
}

/// A proxy that gives each request to the next process.
pub(super) struct Proxy {
    pub(super) url: String,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    pub(super) async fn start(urls: Vec<String>) -> Self {
        // A connection to a process that is gone is not used again.
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
        let behind = Arc::new(Behind { urls, next: AtomicUsize::new(0), http });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback(forward).with_state(behind);
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, task }
    }
}

/// The processes of a proxy, and the number of requests so far.
struct Behind {
    urls: Vec<String>,
    next: AtomicUsize,
    http: reqwest::Client,
}

/// Sends a request to the next process, or to another one if that cannot be reached. One that was sent is not sent again.
async fn forward(State(behind): State<Arc<Behind>>, request: axum::extract::Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    parts.headers.remove("host");
    let first = behind.next.fetch_add(1, Ordering::Relaxed);
    let mut response = Response::new(Body::empty());
    for at in first..first + behind.urls.len() {
        let sent = behind.http.request(parts.method.clone(), &behind.urls[at % behind.urls.len()]);
        match sent.headers(parts.headers.clone()).body(body.clone()).send().await {
            Ok(answer) => {
                *response.status_mut() = answer.status();
                *response.headers_mut() = answer.headers().clone();
                *response.body_mut() = Body::from_stream(answer.bytes_stream());
                return response;
            }
            Err(error) if error.is_connect() => {}
            Err(_) => break,
        }
    }
    *response.status_mut() = axum::http::StatusCode::BAD_GATEWAY;
    response
}

impl Cluster {
    async fn start(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("tool-mcp-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let variables = [("STORES", directory.to_str().unwrap())];
        let start = || Process::start("server::processes::serves", &variables);
        let processes = [start().await, start().await];
        let proxy = Proxy::start(processes.iter().map(|process| process.url.clone()).collect()).await;
        let http = reqwest::Client::new();
        Self { url: proxy.url.clone(), directory, processes, _proxy: proxy, http }
    }

    /// The proxy, as a test of one server uses it.
    fn post(&self, url: &str, message: &Value, version: &ProtocolVersion) -> reqwest::RequestBuilder {
        super::post(&self.http, url, message, version)
    }

    fn ids(&self) -> BTreeSet<u64> {
        self.processes.iter().map(Process::id).collect()
    }

    /// Opens a session through the proxy.
    async fn open(&self) -> String {
        let [version, _] = BOTH;
        let opened = self.post(&self.url, &initialize(), &version).send().await.unwrap();
        let id = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        opened.text().await.unwrap();
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let initialized = self.post(&self.url, &initialized, &version).header("mcp-session-id", &id);
        assert_eq!(initialized.send().await.unwrap().status(), 202);
        id
    }
}

#[tokio::test]
async fn calls_of_both_protocols_are_answered_by_both_processes() {
    let mut cluster = Cluster::start("calls").await;
    for version in BOTH {
        let config = ServerConfig::new("cluster", Endpoint::new(&*cluster.url));
        let set = McpToolSet::builder(config).protocol(version.clone()).connect().await.unwrap();
        let mut answered = BTreeSet::new();
        for _ in 0..10 {
            let result = set.call_raw("process", Map::new()).await.unwrap();
            answered.insert(text(&result).parse::<u64>().unwrap());
        }
        assert_eq!(answered, cluster.ids(), "{version}");
        set.close().await;
    }
    // A session that both serve goes on after one of them is gone.
    let [version, _] = BOTH;
    let id = cluster.open().await;
    let left = cluster.processes[1].id();
    cluster.processes[0].child.kill().await.unwrap();
    for _ in 0..4 {
        let params = json!({ "name": "process", "arguments": {} });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = cluster.post(&cluster.url, &call, &version).header("mcp-session-id", &id);
        let answer = sse(&answer.send().await.unwrap().text().await.unwrap());
        assert_eq!(answer["result"]["content"][0]["text"], left.to_string(), "{answer}");
    }
}

#[tokio::test]
async fn the_result_of_a_lost_stream_is_read_from_the_other_process() {
    let cluster = Cluster::start("streams").await;
    let [version, _] = BOTH;
    let id = cluster.open().await;
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let params = json!({ "name": "wait", "arguments": { "port": port.local_addr().unwrap().port() } });
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    let request = cluster.post(&cluster.processes[0].url, &call, &version).header("mcp-session-id", &id);
    let mut answer = request.send().await.unwrap();
    let last = loop {
        let chunk = String::from_utf8(answer.chunk().await.unwrap().unwrap().to_vec()).unwrap();
        if let Some(id) = chunk.lines().find_map(|line| line.strip_prefix("id:")) {
            break id.trim().to_owned();
        }
    };
    let (running, _) = port.accept().await.unwrap();
    drop(answer);
    let resume = async || {
        let resumed = cluster
            .http
            .get(&cluster.processes[1].url)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &id)
            .header("mcp-protocol-version", version.as_str())
            .header("last-event-id", &last);
        resumed.send().await.unwrap().text().await.unwrap()
    };
    // Nothing follows yet.
    assert!(!resume().await.contains("result"));
    drop(running);
    let answer = loop {
        // As a client does: a stream that ends is resumed again.
        let events = resume().await;
        if events.contains("jsonrpc") {
            break sse(&events);
        }
    };
    let expected = cluster.processes[0].id().to_string();
    assert_eq!(answer["result"]["content"][0]["text"], expected, "{answer}");
}

#[tokio::test]
async fn a_state_is_accepted_once_by_all_processes() {
    let cluster = Cluster::start("states").await;
    let [_, version] = BOTH;
    let mut call = modern("tools/call", json!({ "name": "greet", "arguments": {} }));
    let elicitation = ClientCapabilities::builder().enable_elicitation().build();
    call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!(elicitation);
    let post = async |url: &str, call: &Value| -> Value {
        let answer = cluster.post(url, call, &version).send().await.unwrap();
        sse(&answer.text().await.unwrap())
    };
    let [first, second] = [&*cluster.processes[0].url, &*cluster.processes[1].url];
    let asked = post(first, &call).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    call["params"]["requestState"] = asked["result"]["requestState"].clone();
    let form = json!({ "action": "accept", "content": { "first": "Ada" } });
    call["params"]["inputResponses"] = json!({ "first": form });
    let asked = post(second, &call).await;
    assert!(asked["result"]["inputRequests"]["last"].is_object(), "{asked}");
    for url in [first, second, &*cluster.url] {
        let refused = post(url, &call).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("used before"), "{refused}");
    }
}
