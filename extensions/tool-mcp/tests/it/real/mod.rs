//! The client before official servers from npm and PyPI, which `.ci/mcp/install` installs. It writes the variables
//! `MCP_PEERS`, `MCP_NODE` and `MCP_PYTHON` to a file; without them, these tests are [skipped](crate::skipped).

mod everything;
mod filesystem;
mod memory;
mod time;

use std::{env, path::Path};

use serde_json::Value;
use tool_mcp::client::{McpToolSet, Process, ServerConfig};
use tool_runtime::{Executor, RunContext, ToolCall, ToolResult, Toolbox, toolset::ToolSetExt};

/// A variable of the installed servers; `None`, with a report, if they are not installed.
fn variable(name: &str) -> Option<String> {
    let value = env::var(name).ok();
    if value.is_none() {
        crate::skipped::report(&format!(
            "`{name}` is not set; run `. \"$(.ci/mcp/install)/environment\"` for tests with real servers"
        ));
    }
    value
}

/// A server from npm, as a process.
fn npm(package: &str, arguments: &[&str]) -> Option<Process> {
    let script =
        format!("{}/node_modules/@modelcontextprotocol/{package}/dist/index.js", variable("MCP_PEERS")?);
    assert!(Path::new(&script).exists(), "{script}");
    Some(Process::new(variable("MCP_NODE")?).args([script.as_str()]).args(arguments.iter().copied()))
}

/// A connected server with its tools.
struct Server {
    set: McpToolSet,
    executor: Executor,
}

impl Server {
    async fn connect(config: ServerConfig) -> Self {
        Self::of(McpToolSet::connect(config).await.unwrap()).await
    }

    /// The tools of `set`, with the name of the set as their prefix.
    async fn of(set: McpToolSet) -> Self {
        let toolbox = Toolbox::new();
        toolbox.add_toolset(set.clone().prefixed()).unwrap();
        let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
        assert!(set.diagnostics().is_empty(), "{:?}", set.diagnostics());
        Self { set, executor: Executor::new(tools) }
    }

    fn names(&self) -> Vec<&str> {
        self.executor.tools().definitions().iter().map(|tool| tool.name().as_str()).collect()
    }

    /// Calls a tool as a model does.
    async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        let outcomes = self.executor.run(vec![ToolCall::new(tool, arguments)]).await;
        outcomes[0].result().unwrap().clone()
    }

    /// The text of a call that succeeds.
    async fn text(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert!(!result.is_error(), "{result:?}");
        result.text().into_owned()
    }
}
