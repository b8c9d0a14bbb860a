//! A catalogue, as the clients of its server see it.
#![allow(
    deprecated,
    reason = "log lines and subscriptions of sessions are deprecated, and part of a revision in force"
)]

mod changes;
mod items;
mod runs;

use std::sync::Arc;

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        CallToolRequestParams, GetPromptRequestParams, GetPromptResult, ProtocolVersion,
        ReadResourceRequestParams, ResourceContents,
    },
    service::{ClientLifecycleMode, ClientServiceExt as _, RunningService, ServiceError},
    transport::StreamableHttpClientTransport,
};
use tokio::{net::TcpListener, task::JoinSet};
use tool_kit::{
    catalogue::{Catalogue, Connector, UserItemList, UserItems},
    prompt::{Prompt, PromptDefinition, PromptFile, text_prompt},
    resource::{ReadableResource, StoredResource},
};
use tool_mcp::server::McpServer;
use tool_runtime::{
    BoxFuture, CancellationToken, RunContext, Tool, ToolSet, Toolbox,
    context::{LogLevel, LogLine},
    prelude::*,
    toolset::NamedTools,
};

/// The two protocols: with a session, and from 2026-07-28 on.
const BOTH: [ProtocolVersion; 2] = [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// Adds two numbers.
#[tool(register = false, name = "a")]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Counts, and writes two lines to the log.
#[tool(register = false, name = "b")]
fn count(cx: &ToolContext) -> Result<&'static str, ToolError> {
    cx.log(LogLine::new(LogLevel::Info, "counting"))?;
    cx.log(LogLine::new(LogLevel::Warning, "slow").with_data(json!({ "ms": 5 })))?;
    Ok("counted")
}

fn tools_of(registry: &Registry) -> Vec<Arc<dyn Tool>> {
    let names = registry.all_definitions().iter().map(|it| it.name().to_string());
    names.map(|name| Arc::clone(registry.get(&name).unwrap())).collect()
}

fn prompt(name: &str, text: &'static str) -> Arc<dyn Prompt> {
    Arc::new(text_prompt(PromptDefinition::new(name).unwrap(), move |_| Ok(text.to_owned())))
}

fn note(uri: &str, text: &str) -> Arc<dyn ReadableResource> {
    Arc::new(StoredResource::must_text("note", text).with_uri(uri).unwrap())
}

/// A connector with a tool, two prompts and two resources: `notes://today` is also a resource of the program.
struct Service(&'static str);

impl Connector for Service {
    fn namespace(&self) -> &str {
        self.0
    }

    fn toolset(&self) -> Option<Arc<dyn ToolSet>> {
        let tools = Registry::builder().tool::<count>().build().unwrap();
        Some(Arc::new(NamedTools::new(self.0, tools_of(&tools))))
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        Box::pin(async { Ok(vec![prompt("explain", "of the service"), prompt("greet", "hello")]) })
    }

    fn resources<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn ReadableResource>>, ToolError>> {
        Box::pin(async { Ok(vec![note("notes://today", "hidden"), note("notes://srv", "of the service")]) })
    }
}

/// The items of each user.
struct Users;

impl UserItems for Users {
    fn list<'a>(&'a self, _: &'a Arc<RunContext>) -> BoxFuture<'a, Result<UserItemList, ToolError>> {
        Box::pin(async {
            let mut list = UserItemList::default();
            list.prompts = vec![prompt("mine", "of the user")];
            list.resources = vec![note("notes://mine", "of the user")];
            Ok(list)
        })
    }
}

const EXPLAIN: &str = "---
name: explain
description: Explains a topic.
input:
  type: object
  properties: { topic: { type: string }, style: { enum: [short, shorter, long] } }
  required: [topic]
---
Explain {{ .topic }}.";

/// The items of a program, of the service `srv` and of users.
fn catalogue() -> Catalogue {
    let tools = Registry::builder().tool::<add>().build().unwrap();
    let catalogue = Catalogue::of_tools(Toolbox::from_registry(&tools));
    catalogue.add_prompt(PromptFile::parse(EXPLAIN).unwrap()).unwrap();
    catalogue.add_resources([note("notes://today", "Buy milk.")]).unwrap();
    catalogue.add_resource(StoredResource::must_data("dot", b"\x89PNG\r\n\x1a\n"));
    catalogue.connect(Service("srv")).unwrap();
    catalogue.set_user_items(Users).unwrap();
    catalogue
}

/// A client of a server.
struct World<H: ClientHandler> {
    client: RunningService<RoleClient, H>,
    /// The server, if it is of this client alone.
    _server: JoinSet<()>,
}

/// Connects to a server over streams in memory.
async fn connect<H: ClientHandler>(server: McpServer, handler: H, version: ProtocolVersion) -> World<H> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(far);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        server.serve(read, write, CancellationToken::new()).await.ok();
    });
    World { client: handler.serve_with_lifecycle(near, mode(version)).await.unwrap(), _server: tasks }
}

/// Serves at a port of this machine, in a task; returns the URL.
async fn serve_http(server: McpServer, tasks: &mut JoinSet<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = server.http().unwrap();
    tasks.spawn(async move {
        server.serve(listener, CancellationToken::new()).await.ok();
    });
    url
}

/// Connects to the server at a URL.
async fn connect_http<H: ClientHandler>(url: &str, handler: H, version: ProtocolVersion) -> World<H> {
    let transport = StreamableHttpClientTransport::from_uri(url);
    let client = handler.serve_with_lifecycle(transport, mode(version)).await.unwrap();
    World { client, _server: JoinSet::new() }
}

fn mode(version: ProtocolVersion) -> ClientLifecycleMode {
    match version.has_initialize() {
        true => ClientLifecycleMode::Initialize,
        false => ClientLifecycleMode::Auto { preferred_versions: vec![version], legacy_version: None },
    }
}

impl<H: ClientHandler> World<H> {
    async fn tool_names(&self) -> Vec<String> {
        self.client.list_all_tools().await.unwrap().into_iter().map(|it| it.name.to_string()).collect()
    }

    async fn prompt_names(&self) -> Vec<String> {
        self.client.list_all_prompts().await.unwrap().into_iter().map(|it| it.name).collect()
    }

    async fn uris(&self) -> Vec<String> {
        self.client.list_all_resources().await.unwrap().into_iter().map(|it| it.uri.clone()).collect()
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> String {
        let mut params = CallToolRequestParams::new(tool);
        params.arguments = arguments.as_object().cloned();
        let result = self.client.call_tool(params).await.unwrap();
        result.content[0].as_text().unwrap().text.clone()
    }

    async fn get(&self, name: &str, arguments: Value, meta: Value) -> Result<GetPromptResult, ServiceError> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = arguments.as_object().cloned();
        params.meta = tool_runtime::serde_json::from_value(meta).unwrap();
        self.client.get_prompt(params).await
    }

    async fn text_of(&self, name: &str, arguments: Value) -> Result<String, String> {
        let got = self.get(name, arguments, Value::Null).await.map_err(|error| error.to_string())?;
        Ok(got.messages[0].content.as_text().unwrap().text.clone())
    }

    async fn read(&self, uri: &str) -> Result<ResourceContents, ServiceError> {
        let mut read = self.client.read_resource(ReadResourceRequestParams::new(uri)).await?;
        Ok(read.contents.swap_remove(0))
    }
}
