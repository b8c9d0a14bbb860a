//! go-llm: a toolkit with two tools, a prompt file and two resources, whose delegate creates connectors, runs prompts and receives events, and a remote
//! connector that goes away and comes back.

use std::sync::Arc;

use kit_examples::LocalServer;
use tool_agent::{ScriptedModel, model::Reply};
use tool_kit::{
    agent::{AgentDelegate, Models},
    catalogue::{Catalogue, CatalogueListener, ItemQuery, json_input},
    mcp::McpConnector,
    prompt::PromptFile,
    resource::{ReadableResource as _, StoredResource},
};
use tool_mcp::client::{Endpoint, McpToolSet, ServerConfig};
use tool_runtime::{
    RunContext, Toolbox,
    output::{Resource, ResourceBody},
    prelude::*,
};

/// Adds two numbers.
#[tool(register = false, read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Greets someone.
#[tool(register = false, read_only)]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

async fn create_connector(namespace: &str, url: &str) -> anyhow::Result<McpConnector> {
    let config = ServerConfig::new(namespace, Endpoint::new(url));
    Ok(McpConnector::connect(McpToolSet::builder(config)).await?)
}

fn receive_events(listener: &mut CatalogueListener) -> anyhow::Result<()> {
    while let Some(event) = listener.try_next() {
        let event = event?;
        println!("event: {:?} of {}", event.change, event.namespace.as_deref().unwrap_or("builtin"));
    }
    Ok(())
}

async fn call(catalogue: &Catalogue, key: &str, input: Value) {
    match catalogue.call(&Arc::new(RunContext::new()), key, vec![json_input(&input)]).await {
        Ok(Some(Resource { body: ResourceBody::Text(text), .. })) => println!("{key}: {text}"),
        Ok(_) => println!("{key}: no text"),
        Err(error) => println!("{key}: {:?}", error.kind()),
    }
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let tools = Registry::builder().tool::<add>().tool::<greet>().build()?;
    let model = ScriptedModel::new([Reply::text("The moon pulls. The sea follows. It returns.")]);
    let catalogue = Catalogue::of_tools(Toolbox::from_registry(&tools))
        .with_delegate(AgentDelegate::new(Models::new(model)?));
    let mut listener = catalogue.subscribe();
    catalogue.add_prompt(PromptFile::load(concat!(env!("CARGO_MANIFEST_DIR"), "/ports/explain.md"))?)?;
    catalogue.add_resource(StoredResource::text("notes", "Buy milk.")?.with_uri("notes://today")?);
    catalogue.add_resource(StoredResource::json("settings", &json!({ "language": "en" }))?);
    let server = LocalServer::start(None).await?;
    let books = create_connector("books", &server.url()).await?;
    catalogue.connect(books.clone())?;
    receive_events(&mut listener)?;

    let items = catalogue.snapshot(&Arc::new(RunContext::new())).await?;
    for item in items.list(&ItemQuery::all()).items {
        println!("{:?} {}", item.kind(), item.key());
    }
    for key in ["add", "search", "books.search", "notes://today", "library://hours#books"] {
        let item = items.lookup(key)?;
        println!("{key} is the {:?} `{}` of {}", item.kind(), item.name(), item.namespace());
    }
    call(&catalogue, "add", json!({ "a": 2, "b": 3 })).await;
    call(&catalogue, "explain", json!({ "topic": "tides" })).await;
    call(&catalogue, "books.search", json!({ "query": "Tides" })).await;

    let address = server.stop().await?;
    call(&catalogue, "books.search", json!({ "query": "Tides" })).await;
    let server = LocalServer::start(Some(address)).await?;
    call(&catalogue, "books.search", json!({ "query": "Tides" })).await;
    receive_events(&mut listener)?;
    catalogue.disconnect("books")?;
    call(&catalogue, "books.search", json!({ "query": "Tides" })).await;
    books.server().close().await;
    server.stop().await?;
    Ok(())
}
