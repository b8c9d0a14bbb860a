//! Several servers in front of one database, each of which a client may come to.

mod bad_input;
mod end_to_end;
mod limits;
mod messages;
mod outage;
mod processes;

use std::{sync::Arc, time::Duration};

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use sqlx::PgPool;
use test_support::postgres::{new_schema, shared_url};
use tokio::sync::{Notify, Semaphore};
use tool_mcp::server::{Cluster, ClusterOptions, HttpConfig, McpServer, ResourceSet, Resources as _};
use tool_runtime::{
    CancellationToken,
    context::{LogLevel, LogLine, Progress},
    open_calls::ProgramKey,
    prelude::*,
};

use super::{BOTH, Served, initialize, questions, serve, sse};

/// A database of Postgres for one test.
struct Database {
    url: String,
    schema: String,
}

impl Database {
    /// Returns a new one, unless the machine has no server, which is reported.
    fn new() -> Option<Self> {
        Some(Self { url: shared_url()?, schema: new_schema() })
    }

    fn options(&self) -> ClusterOptions {
        let key = ProgramKey::new([7; 32]);
        ClusterOptions::new(&self.url, key).unwrap().schema(&*self.schema).unwrap()
    }

    /// Changes rows by hand. `{schema}` stands for the schema.
    async fn execute(&self, sql: &str) -> u64 {
        let pool = PgPool::connect(&self.url).await.unwrap();
        let sql = sqlx::AssertSqlSafe(sql.replace("{schema}", &self.schema));
        let changed = sqlx::query(sql).execute(&pool).await.unwrap().rows_affected();
        pool.close().await;
        changed
    }
}

struct Gate {
    started: Notify,
    /// Has a permit for each call that started.
    starts: Semaphore,
    go: Notify,
    all_go: CancellationToken,
    cancelled: Notify,
}

impl Gate {
    fn new() -> Self {
        let [started, go, cancelled] = [const { Notify::const_new() }; 3];
        Self { started, starts: Semaphore::new(0), go, all_go: CancellationToken::new(), cancelled }
    }
}

/// Adds two numbers.
#[tool(register = false, read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Waits.
#[tool(register = false)]
async fn wait(gate: &Gate, cx: &ToolContext) -> &'static str {
    gate.started.notify_one();
    gate.starts.add_permits(1);
    tokio::select! {
        () = gate.go.notified() => "done",
        () = gate.all_go.cancelled() => "done",
        () = cx.cancellation().cancelled() => {
            gate.cancelled.notify_one();
            "cancelled"
        }
    }
}

/// The size of a report of `flood`.
const REPORT_BYTES: usize = 32 * 1024;

/// Reports more progress than a client receives that does not read, and waits.
#[tool(register = false)]
async fn flood(gate: &Gate, cx: &ToolContext) -> Result<&'static str, ToolError> {
    for done in 0..500 {
        cx.progress(Progress::new(f64::from(done)).message("x".repeat(REPORT_BYTES)))?;
    }
    gate.all_go.cancelled().await;
    Ok("done")
}

/// Works for long.
#[tool(register = false, long_running)]
async fn work(gate: &Gate) -> &'static str {
    gate.started.notify_one();
    gate.go.notified().await;
    "worked"
}

/// Logs a line.
#[tool(register = false, read_only)]
fn note(cx: &ToolContext) -> Result<&'static str, ToolError> {
    cx.log(LogLine::new(LogLevel::Info, "a line"))?;
    Ok("noted")
}

/// One of the servers, which share nothing but the database.
struct Member {
    served: Served,
    cluster: Cluster,
    gate: Arc<Gate>,
    resources: ResourceSet,
}

impl Member {
    async fn start(database: &Database) -> Self {
        Self::start_with(database.options(), HttpConfig::new()).await
    }

    async fn start_with(options: ClusterOptions, config: HttpConfig) -> Self {
        Self::start_server(options, config, |server| server).await
    }

    async fn start_server(
        options: ClusterOptions,
        config: HttpConfig,
        set: impl FnOnce(McpServer) -> McpServer,
    ) -> Self {
        let (gate, resources) = (Arc::new(Gate::new()), ResourceSet::new().text("a:a", "a", "text"));
        let tools = questions::builder()
            .tool::<add>()
            .tool::<wait>()
            .tool::<flood>()
            .tool::<note>()
            .tool::<work>()
            .provide_shared(Arc::clone(&gate));
        let cluster = options.open().await.unwrap();
        let server = set(McpServer::new(tools.build().unwrap()).resources(resources.clone()));
        let server = server.http_with(config.cluster(cluster.clone())).unwrap();
        Self { served: serve(server).await, cluster, gate, resources }
    }

    /// Tells clients that the list of resources has changed.
    fn change_list(&self) {
        self.resources.changes().unwrap().list_changed();
    }

    fn url(&self) -> &str {
        &self.served.url
    }
}

/// Starts two servers. At the second one, a session rests whenever it is not used.
async fn start_two(database: &Database) -> [Member; 2] {
    let resting = HttpConfig::new().max_ready_sessions(0);
    [Member::start(database).await, Member::start_with(database.options(), resting).await]
}

/// A client with a session, which comes to any of the servers.
struct Client {
    http: reqwest::Client,
    session: String,
}

impl Client {
    /// Opens a session at `url`.
    async fn open(url: &str) -> Self {
        let http = reqwest::Client::new();
        let mut request = initialize();
        request["params"]["capabilities"] = json!({ "elicitation": {} });
        let opened = super::post(&http, url, &request, &BOTH[0]).send().await.unwrap();
        assert_eq!(opened.status(), 200);
        let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        opened.text().await.unwrap();
        let client = Self { http, session };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.post(url, &initialized).await.status(), 202);
        client
    }

    fn version() -> ProtocolVersion {
        let [version, _] = BOTH;
        version
    }

    async fn post(&self, url: &str, message: &Value) -> reqwest::Response {
        let request = super::post(&self.http, url, message, &Self::version());
        request.header("mcp-session-id", &self.session).send().await.unwrap()
    }

    async fn request(&self, url: &str, method: &str, params: Value) -> Value {
        let answer = self.post(url, &request(7, method, params)).await;
        assert_eq!(answer.status(), 200);
        sse(&answer.text().await.unwrap())
    }

    /// Begins a call, whose events are read.
    async fn call(&self, url: &str, id: i64, tool: &str) -> Events {
        let call = request(id, "tools/call", json!({ "name": tool, "arguments": {} }));
        Events::new(self.post(url, &call).await)
    }

    /// Opens the stream of the session, after the event `last`.
    async fn listen(&self, url: &str, last: Option<&str>) -> Events {
        let request = self
            .http
            .get(url)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &self.session)
            .header("mcp-protocol-version", Self::version().as_str());
        let request = match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        };
        Events::new(request.send().await.unwrap())
    }

    async fn delete(&self, url: &str) -> u16 {
        let delete = self.http.delete(url).header("mcp-session-id", &self.session);
        delete.send().await.unwrap().status().as_u16()
    }
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// The events of a stream.
struct Events {
    response: reqwest::Response,
    buffer: String,
    /// The id of the last event.
    last: String,
}

impl Events {
    fn new(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        Self { response, buffer: String::new(), last: String::new() }
    }

    /// Returns the next event, without its message if it has none; `None` at the end.
    async fn next_event(&mut self) -> Option<Option<Value>> {
        loop {
            if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.buffer = rest;
                let field = |name| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                if let Some(id) = field("id:") {
                    self.last = id.to_owned();
                }
                return Some(field("data:").filter(|data| !data.is_empty()).map(sse));
            }
            let chunk = tokio::time::timeout(Duration::from_secs(60), self.response.chunk()).await;
            let chunk = chunk.expect("an event within a minute").ok().flatten()?;
            self.buffer += std::str::from_utf8(&chunk).unwrap();
        }
    }

    /// Returns the next message; `None` at the end.
    async fn next_message(&mut self) -> Option<Value> {
        loop {
            if let Some(message) = self.next_event().await? {
                return Some(message);
            }
        }
    }

    /// Waits for an id of an event, and returns it.
    async fn next_id(&mut self) -> String {
        let before = self.last.clone();
        while self.last == before || self.last == "0" {
            assert!(self.next_event().await.is_some(), "the stream has an event");
        }
        self.last.clone()
    }
}

/// Resumes a stream of revision 2026-07-28 after the event `last`.
async fn resume_modern(url: &str, last: &str) -> Events {
    let [_, version] = BOTH;
    let request = reqwest::Client::new().get(url).header("accept", "text/event-stream");
    let request = request.header("last-event-id", last).header("mcp-protocol-version", version.as_str());
    Events::new(request.send().await.unwrap())
}
