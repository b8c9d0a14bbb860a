//! The delegate, connections to servers, and the log of events.

use tool_agent::{ScriptedModel, model::Reply};
use tool_kit::{
    agent::{AgentDelegate, Models},
    catalogue::{
        Catalogue, CatalogueChange, CatalogueEvent, CatalogueListener, Delegate, ItemQuery, PromptCall,
    },
    mcp::McpConnector,
};
use tool_mcp::client::{Endpoint, McpToolSet, ServerConfig};
use tool_runtime::{BoxFuture, RunContext, ToolError, ToolOutput, prelude::json};

/// The delegate of the catalogue, which tells of each prompt that it runs.
pub(crate) struct Librarian(AgentDelegate);

impl Librarian {
    /// Creates a delegate whose model has a script, in the place of a provider: it calls a tool, and answers.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let model = ScriptedModel::new([
            Reply::call("books__search", json!({ "query": "Tides" })),
            Reply::text("Read `Tides and Waves`."),
        ]);
        Ok(Self(AgentDelegate::new(Models::new(model)?)))
    }
}

impl Delegate for Librarian {
    fn call<'a>(&'a self, call: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        println!("an agent runs the prompt `{}`", call.prompt.definition().name());
        self.0.call(call)
    }
}

/// Connects to a server, whose items have the namespace.
pub(crate) async fn connect(namespace: &str, url: &str) -> anyhow::Result<McpConnector> {
    let config = ServerConfig::new(namespace, Endpoint::new(url));
    Ok(McpConnector::connect(McpToolSet::builder(config)).await?)
}

/// Waits for a change, logs it with those that came with it, and lists the items.
pub(crate) async fn list_on_change(
    catalogue: &Catalogue,
    listener: &mut CatalogueListener,
) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    let mut event = listener.next().await;
    while let Some(received) = event {
        lines.push(event_line(&received?));
        event = listener.try_next();
    }
    lines.sort();
    lines.dedup();
    lines.iter().for_each(|line| println!("event: {line}"));
    let snapshot = catalogue.snapshot(&std::sync::Arc::new(RunContext::new())).await?;
    let items = snapshot.list(&ItemQuery::all()).items;
    let keys: Vec<_> = items.iter().map(|item| item.key()).collect();
    println!("items: {}\n", keys.join(", "));
    Ok(())
}

fn event_line(event: &CatalogueEvent) -> String {
    let origin = event.namespace.as_deref().unwrap_or("the program");
    match &event.change {
        CatalogueChange::Tools => format!("the tools of {origin} changed"),
        CatalogueChange::Prompts => format!("the prompts of {origin} changed"),
        CatalogueChange::Resources => format!("the resources of {origin} changed"),
        CatalogueChange::Resource { uri } => format!("{uri} of {origin} has another content"),
        other => format!("{other:?}"),
    }
}
