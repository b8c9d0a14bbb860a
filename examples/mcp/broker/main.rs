//! Four tools in place of all tools of a server, which a model reads when it needs them.
//!
//! ```sh
//! cargo build -p mcp-examples && cargo run --bin mcp-broker
//! ```
//!
//! The calls below are those of a model. First it finds a server of the program, lists its tools, reads the schema of one, and
//! calls it. Then it reads a skill, which names a server by URL, and does the same there.

use std::env;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tool_mcp::{
    broker::McpBroker,
    client::{Process, ServerConfig},
    server::McpServer,
};
use tool_runtime::{CancellationToken, Toolbox, prelude::*, serde_json};

/// Returns the forecast of a city.
#[tool(register = false, read_only)]
fn forecast(city: String) -> String {
    format!("Sunny in {city}.")
}

/// The URL of the server of forecasts.
struct ForecastUrl(String);

/// Explains how forecasts are made.
#[tool(register = false, read_only)]
fn read_skill(url: &ForecastUrl) -> String {
    format!("Forecasts come from the MCP server {}", url.0)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let forecasts = McpServer::new(Registry::builder().tool::<forecast>().build()?).http()?;
    let serving = tokio::spawn(forecasts.serve(listener, stop.clone()));

    let executor = Executor::new(tools(&url).await?);
    let everything = [
        ("mcp_list_servers", json!({})),
        ("mcp_list_tools", json!({ "selector": "everything" })),
        ("mcp_inspect_tools", json!({ "selector": "everything", "tools": ["test_structured_content"] })),
        (
            "mcp_call",
            json!({ "selector": "everything.test_structured_content", "arguments": { "city": "Oslo" } }),
        ),
    ];
    for (tool, arguments) in everything {
        answer(&executor, tool, arguments).await?;
    }

    // What the model knows of the server is in the results before.
    let skill = answer(&executor, "read_skill", json!({})).await?;
    let url = skill.split_whitespace().find(|word| word.starts_with("http")).context("no URL")?;
    let listed = answer(&executor, "mcp_list_tools", json!({ "selector": url })).await?;
    let listed: Value = serde_json::from_str(&listed)?;
    let (name, selector) = (&listed["tools"][0]["name"], &listed["tools"][0]["selector"]);
    answer(&executor, "mcp_inspect_tools", json!({ "selector": url, "tools": [name] })).await?;
    let arguments = json!({ "city": "Oslo" });
    answer(&executor, "mcp_call", json!({ "selector": selector, "arguments": arguments })).await?;

    stop.cancel();
    serving.await??;
    Ok(())
}

/// The tools of the model: those of the broker, and the skill.
async fn tools(url: &str) -> anyhow::Result<Registry> {
    let server = env::current_exe()?.with_file_name("mcp-everything");
    let server = Process::new(server.to_str().context("the path is not UTF-8")?).args(["--stdio"]);
    let known = url.to_owned();
    let broker = McpBroker::builder()
        .server(ServerConfig::new("everything", server).description("Each feature of the protocol."))
        // A model that chooses URLs reaches whatever this program reaches, unless the program decides about each.
        .allow_urls()
        .client_options(move |target, options| {
            match target.is_chosen_by_model() && target.url() != Some(&known) {
                true => Err(ToolError::failed("the only server of a skill is the one of forecasts")),
                false => Ok(options),
            }
        })
        .build()?;
    let own = Registry::builder().tool::<read_skill>().provide(ForecastUrl(url.to_owned())).build()?;
    let toolbox = Toolbox::from_registry(&own);
    toolbox.add_toolset(broker)?;
    Ok(toolbox.snapshot(&RunContext::new()).await?.into_tools())
}

/// Prints a call and its result, and returns the result.
async fn answer(executor: &Executor, tool: &str, arguments: Value) -> anyhow::Result<String> {
    println!("> {tool} {arguments}");
    let outcomes = executor.run(vec![ToolCall::new(tool, arguments)]).await;
    let text = outcomes[0].result().context("the call has no result")?.text().into_owned();
    println!("{text}\n");
    Ok(text)
}
