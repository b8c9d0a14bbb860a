//! The server before `rmcp`'s own client, over streams in memory.

mod auth;
#[cfg(feature = "postgres")]
mod balanced;
mod basics;
mod caller_tool;
mod cluster;
mod context;
mod exact_limits;
mod hostile;
mod http;
mod lagging;
mod lost;
mod malformed;
mod malformed_params;
mod offer_defaults;
mod offers;
mod processes;
mod questions;
mod received;
mod requests;
mod results;
mod rounds;
mod sources;
#[cfg(unix)]
mod standard;
mod stores;
mod streams;
mod tasks;

use rmcp::{
    RoleClient,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation,
        ProtocolVersion,
    },
    service::{ClientLifecycleMode, ClientServiceExt, RunningService},
    transport::StreamableHttpClientTransport,
};
use serde_json::{Value, json};
use tool_mcp::server::{HttpServer, McpServer, ServeError, ServedTools};
use tool_runtime::CancellationToken;

/// A client of a server.
pub(crate) struct Connected<H: rmcp::ClientHandler> {
    pub(crate) client: RunningService<RoleClient, H>,
}

/// The two protocols: with a session, and from 2026-07-28 on.
pub(crate) const BOTH: [ProtocolVersion; 2] = [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// Connects `handler` to a server of `tools`, in the revision `version`.
pub(crate) async fn connect<H: rmcp::ClientHandler>(
    tools: impl Into<ServedTools>,
    handler: H,
    version: ProtocolVersion,
) -> Connected<H> {
    connect_to(McpServer::new(tools).named("under-test", "1.2.3"), handler, version).await
}

/// Connects `handler` to `server`.
pub(crate) async fn connect_to<H: rmcp::ClientHandler>(
    server: McpServer,
    handler: H,
    version: ProtocolVersion,
) -> Connected<H> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(far);
    tokio::spawn(server.serve(read, write, CancellationToken::new()));
    let client = handler.serve_with_lifecycle(near, mode(version)).await.unwrap();
    Connected { client }
}

/// A server at a port of this machine, until it is dropped.
pub(crate) struct Served {
    pub(crate) url: String,
    client: reqwest::Client,
    pub(crate) server: HttpServer,
    pub(crate) stop: CancellationToken,
    pub(crate) ended: tokio::task::JoinHandle<Result<(), ServeError>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.ended.abort();
    }
}

/// Serves `server` over HTTP.
pub(crate) async fn serve(server: HttpServer) -> Served {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let ended = tokio::spawn(server.clone().serve(listener, stop.clone()));
    Served { url, client: reqwest::Client::new(), server, stop, ended }
}

impl Served {
    /// Connects `handler`, in the revision `version`.
    pub(crate) async fn connect<H: rmcp::ClientHandler>(
        &self,
        handler: H,
        version: ProtocolVersion,
    ) -> Connected<H> {
        let transport = StreamableHttpClientTransport::from_uri(self.url.as_str());
        self.connect_over(transport, handler, version).await
    }

    /// Connects `handler` over `transport`, in the revision `version`.
    pub(crate) async fn connect_over<H: rmcp::ClientHandler>(
        &self,
        transport: StreamableHttpClientTransport<reqwest::Client>,
        handler: H,
        version: ProtocolVersion,
    ) -> Connected<H> {
        let client = handler.serve_with_lifecycle(transport, mode(version)).await.unwrap();
        Connected { client }
    }

    /// A POST request with `message`, of the revision `version`.
    pub(crate) fn post(&self, message: &Value, version: &ProtocolVersion) -> reqwest::RequestBuilder {
        post(&self.client, &self.url, message, version)
    }
}

/// A POST request with `message` to `url`, of the revision `version`.
pub(crate) fn post(
    client: &reqwest::Client,
    url: &str,
    message: &Value,
    version: &ProtocolVersion,
) -> reqwest::RequestBuilder {
    let params = &message["params"];
    let name = ["name", "taskId", "uri"].iter().find_map(|key| params[key].as_str());
    client
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", version.as_str())
        .header("mcp-method", message["method"].as_str().unwrap_or_default())
        .header("mcp-name", name.unwrap_or_default())
        .body(message.to_string())
}

/// A request `method` with the metadata of revision 2026-07-28.
pub(crate) fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A request to open a session, up to revision 2025-11-25.
pub(crate) fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" }
        }
    })
}

/// The last message of a body, which is JSON or a stream of events.
pub(crate) fn sse(body: &str) -> Value {
    let last =
        body.lines().filter_map(|line| line.strip_prefix("data:")).rfind(|data| !data.trim().is_empty());
    serde_json::from_str(last.unwrap_or(body)).unwrap()
}

fn mode(version: ProtocolVersion) -> ClientLifecycleMode {
    match version.has_initialize() {
        true => ClientLifecycleMode::Initialize,
        false => ClientLifecycleMode::Auto { preferred_versions: vec![version], legacy_version: None },
    }
}

impl<H: rmcp::ClientHandler> Connected<H> {
    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        self.try_call(tool, arguments).await.unwrap()
    }

    pub(crate) async fn try_call(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<CallToolResult, rmcp::ServiceError> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = arguments.as_object().cloned();
        self.client.call_tool(params).await
    }
}

/// The texts of a result.
pub(crate) fn text(result: &CallToolResult) -> String {
    let texts: Vec<_> =
        result.content.iter().filter_map(|it| it.as_text()).map(|it| it.text.as_str()).collect();
    texts.join("\n")
}

/// The description of a client.
pub(crate) fn config(capabilities: ClientCapabilities) -> ClientConfig {
    ClientConfig::new(capabilities, Implementation::new("tester", "0.1.0"))
}
