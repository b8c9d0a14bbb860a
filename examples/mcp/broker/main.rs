//! Four tools in place of all tools of a server, which a model reads when it needs them.
//!
//! ```sh
//! cargo build -p mcp-examples && cargo run --bin mcp-broker
//! ```
//!
//! The calls below are those of a model: it finds a server, lists its tools, reads the schema of one, and calls it.

use std::env;

use anyhow::Context as _;
use tool_mcp::{
    broker::McpBroker,
    client::{Process, ServerConfig},
};
use tool_runtime::{Toolbox, prelude::*};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let server = env::current_exe()?.with_file_name("mcp-everything");
    let server = Process::new(server.to_str().context("the path is not UTF-8")?).args(["--stdio"]);
    let broker = McpBroker::builder()
        .server(ServerConfig::new("everything", server).description("Each feature of the protocol."))
        .build()?;
    let toolbox = Toolbox::new();
    toolbox.add_toolset(broker)?;
    let executor = Executor::new(toolbox.snapshot(&RunContext::new()).await?.into_tools());

    let calls = [
        ("mcp_list_servers", json!({})),
        ("mcp_list_tools", json!({ "selector": "everything" })),
        ("mcp_inspect_tools", json!({ "selector": "everything", "tools": ["test_structured_content"] })),
        (
            "mcp_call",
            json!({ "selector": "everything.test_structured_content", "arguments": { "city": "Oslo" } }),
        ),
    ];
    for (tool, arguments) in calls {
        println!("> {tool} {arguments}");
        let outcomes = executor.run(vec![ToolCall::new(tool, arguments)]).await;
        println!("{}\n", outcomes[0].result().context("the call has no result")?.text());
    }
    Ok(())
}
