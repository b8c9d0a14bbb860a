//! tRPC-Agent-Go: tool sets that are added, replaced and removed while an agent lives, and three calls in parallel.

use std::sync::Arc;

use agent_examples::{model, show};
use tokio::sync::Barrier;
use tool_agent::{Agent, Runner, hook, model::Reply};
use tool_runtime::{
    Executor, Tool, ToolCall, ToolSet, Toolbox,
    prelude::*,
    toolset::{NamedTools, ToolSetExt},
};

#[tool_args]
struct Query {
    text: String,
}

/// Fetches a page and waits for two other calls; if calls ran one at a time, it would never return.
#[tool(register = false)]
async fn fetch(page: &str, three: &Barrier) -> String {
    three.wait().await;
    format!("{page} is here")
}

/// Creates a set with one tool, as an MCP server or a configuration file would provide it.
fn set(name: &'static str, tool: &'static str) -> anyhow::Result<Arc<dyn ToolSet>> {
    let body = tool_body!(|query: Query| format!("{name} has {}", query.text));
    let tool: Arc<dyn Tool> = Arc::new(ToolBuilder::new(tool).description("Looks it up.").body(body)?);
    Ok(Arc::new(NamedTools::new(name, [tool]).prefixed()))
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let base = Registry::builder().tool::<fetch>().provide(Barrier::new(3)).build()?;
    let toolbox = Toolbox::from_registry(&base);
    let script = [
        Reply::calls(["a", "b", "c"].map(|page| ToolCall::new("fetch", json!({ "page": page })))),
        Reply::text("Three pages."),
        Reply::call("mcp__search", json!({ "text": "tea" })),
        Reply::text("Tea."),
        Reply::call("wiki__read", json!({ "text": "coffee" })),
        Reply::text("Coffee."),
        Reply::call("mcp__find", json!({ "text": "milk" })),
        Reply::text("No milk."),
    ];
    let agent = Agent::builder("librarian", model(script)?)
        .tools((toolbox.clone(), Executor::builder(Registry::default()).parallel(true).build()?))
        .hook(hook::before_model(|step| async move {
            let names: Vec<_> =
                step.request.tools.definitions().iter().map(|it| it.name().to_string()).collect();
            println!("  offered: {}", names.join(" "));
            Ok(step.into())
        }))
        .build()?;
    let runner = Runner::new(agent);
    show(runner.run("Fetch a, b and c.")).await?;
    toolbox.add_toolset(set("mcp", "search")?)?;
    show(runner.run("Search for tea.")).await?;
    toolbox.set_toolsets([set("mcp", "find")?, set("wiki", "read")?])?;
    show(runner.run("Read about coffee.")).await?;
    toolbox.remove_toolset("mcp");
    show(runner.run("Find milk.")).await?;
    Ok(())
}
