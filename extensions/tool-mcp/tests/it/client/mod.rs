//! The client before our server, servers by `rmcp`, and servers that misbehave.

mod answers;
mod attacks;
mod changes;
mod child;
mod config_documents;
mod configs;
mod definitions;
mod deviations;
pub(crate) mod fake;
mod hostile;
mod limits;
mod lives;
mod losses;
#[cfg(feature = "auth")]
mod oauth;
mod offers;
mod pages;
mod posts;
mod proxy;
mod questions;
mod reconnects;
mod requests;
mod results;
mod streams;
mod subscriptions;
mod timeouts;
mod tools;
mod web;

use std::sync::Arc;

use rmcp::model::ProtocolVersion;
use serde_json::Value;
use tool_mcp::{
    client::{McpToolSet, McpToolSetBuilder, Process, ServerConfig},
    server::McpServer,
};
use tool_runtime::{
    CancellationToken, Executor, Registry, RunContext, Tool, ToolCall, ToolResult, ToolSet, Toolbox,
};

pub(crate) use crate::server::BOTH;

/// A builder of the toolset `remote`, whose connections reach `server` over streams in memory.
pub(crate) fn before(server: McpServer) -> McpToolSetBuilder {
    McpToolSet::builder(config()).over(move || {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(far);
        tokio::spawn(server.clone().serve(read, write, CancellationToken::new()));
        async { Ok(tokio::io::split(near)) }
    })
}

/// A server of `tools`.
pub(crate) fn server(tools: Registry) -> McpServer {
    McpServer::new(tools).named("under-test", "1.2.3")
}

/// A configuration whose transport is not used.
pub(crate) fn config() -> ServerConfig {
    ServerConfig::new("remote", Process::new("unused"))
}

/// The toolset of `tools`, in one revision of the protocol.
pub(crate) async fn connected(tools: Registry, version: &ProtocolVersion) -> McpToolSet {
    before(server(tools)).protocol(version.clone()).connect().await.unwrap()
}

/// The tools of a set for a run.
pub(crate) async fn tools_of(set: &impl ToolSet) -> Vec<Arc<dyn Tool>> {
    set.tools(RunContext::new().read_only()).await.unwrap()
}

/// The names of the tools of a set.
pub(crate) async fn names_of(set: &impl ToolSet) -> Vec<String> {
    tools_of(set).await.iter().map(|tool| tool.definition().name().to_string()).collect()
}

/// Calls a tool as a model does, by an executor.
pub(crate) async fn call(set: impl ToolSet + 'static, tool: &str, arguments: Value) -> ToolResult {
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let outcomes = Executor::new(tools).run(vec![ToolCall::new(tool, arguments)]).await;
    outcomes[0].result().unwrap().clone()
}
