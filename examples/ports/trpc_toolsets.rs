//! tRPC-Agent-Go: tool sets that are added, replaced and removed at run time, and three calls in parallel.

use std::sync::Arc;

use tokio::sync::Barrier;
use tool_runtime::{
    Executor, RunContext, Tool, ToolCall, ToolSet, Toolbox,
    prelude::*,
    toolset::{NamedTools, ToolSetExt},
};

#[tool_args]
struct Query {
    text: String,
}

/// Returns the time.
#[tool]
fn clock() -> &'static str {
    "noon"
}

/// Fetches a page and waits for two other calls; if calls ran one at a time, it would never return.
#[tool]
async fn fetch(page: &str, three: &Barrier) -> String {
    three.wait().await;
    format!("{page} is here")
}

/// Creates a set with one tool, as an MCP server or a configuration file would provide it.
fn set(name: &'static str, tool: &'static str) -> anyhow::Result<impl ToolSet + use<>> {
    let body = tool_body!(|query: Query| format!("{name} has {}", query.text));
    let tool: Arc<dyn Tool> = Arc::new(ToolBuilder::new(tool).description("Looks it up.").body(body)?);
    Ok(NamedTools::new(name, [tool]).prefixed())
}

async fn list(when: &str, toolbox: &Toolbox) -> anyhow::Result<()> {
    let tools = toolbox.snapshot(&RunContext::new()).await?.into_tools();
    let names: Vec<_> = tools.definitions().iter().map(|it| it.name().to_string()).collect();
    println!("{when}: {}", names.join(" "));
    Ok(())
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let base = Registry::builder().tool::<clock>().tool::<fetch>().provide(Barrier::new(3)).build()?;
    let toolbox = Toolbox::from_registry(&base);
    list("base", &toolbox).await?;
    toolbox.add_toolset(set("mcp", "search")?)?;
    list("added", &toolbox).await?;
    toolbox
        .set_toolsets([Arc::new(set("mcp", "find")?) as Arc<dyn ToolSet>, Arc::new(set("wiki", "read")?)])?;
    list("replaced", &toolbox).await?;
    toolbox.remove_toolset("mcp");
    list("removed", &toolbox).await?;

    let executor = Executor::new(toolbox.snapshot(&RunContext::new()).await?.into_tools());
    let calls = ["a", "b", "c"].map(|page| ToolCall::new("fetch", json!({ "page": page })));
    for outcome in executor.run(calls.into()).await {
        println!("{}", outcome.result().map(|it| it.text().into_owned()).unwrap_or_default());
    }
    Ok(())
}
