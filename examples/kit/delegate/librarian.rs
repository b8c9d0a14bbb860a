//! The delegate: it connects to servers, runs prompts and logs events.

use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
use tool_kit::{
    catalogue::{
        Catalogue, CatalogueChange, CatalogueEvent, CatalogueListener, Delegate, ItemQuery, PromptCall,
    },
    mcp::McpConnector,
};
use tool_mcp::client::{Endpoint, McpToolSet, ServerConfig};
use tool_runtime::{
    BoxFuture, RunContext, ToolError,
    output::{Resource, ResourceBody},
    prelude::json,
    serde_json::{self, Value},
};

/// The delegate of the catalogue. A model with a script takes the place of a provider: it reads the prompt, and calls the tools.
pub(crate) struct Librarian;

impl Librarian {
    /// Creates a connector.
    pub(crate) async fn connect(&self, namespace: &str, url: &str) -> anyhow::Result<McpConnector> {
        let config = ServerConfig::new(namespace, Endpoint::new(url));
        Ok(McpConnector::connect(McpToolSet::builder(config)).await?)
    }

    async fn run_prompt(&self, call: PromptCall<'_>) -> Result<Option<Resource>, ToolError> {
        let prompt = call.prompt.render(call.run, &input_of(&call.resources)?).await?.text();
        println!("the model reads: {}", prompt.trim());
        let script = [
            Reply::call("books__search", json!({ "query": "Tides" })),
            Reply::text("Read `Tides and Waves`."),
        ];
        let failed = |error: &dyn std::error::Error| ToolError::failed(error.to_string());
        let agent = Agent::builder("librarian", ScriptedModel::new(script)).tools(call.items.tools().clone());
        let agent = agent.build().map_err(|error| failed(&error))?;
        let run = Runner::new(agent).run_with(RunContext::new(), prompt);
        let answer = run.answer().await.map_err(|error| failed(&error))?;
        let (uri, mime_type) = ("text:answer".to_owned(), "text/plain".to_owned());
        Ok(Some(Resource { uri, mime_type, body: ResourceBody::Text(answer) }))
    }
}

impl Delegate for Librarian {
    fn call<'a>(&'a self, call: PromptCall<'a>) -> BoxFuture<'a, Result<Option<Resource>, ToolError>> {
        Box::pin(self.run_prompt(call))
    }
}

/// Returns the input of a prompt: the first resource, which is JSON.
fn input_of(resources: &[Resource]) -> Result<Value, ToolError> {
    match resources.first().map(|resource| &resource.body) {
        Some(ResourceBody::Text(text)) => {
            serde_json::from_str(text).map_err(|error| ToolError::bad_parameter(error.to_string()))
        }
        _ => Ok(json!({})),
    }
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
