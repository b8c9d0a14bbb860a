//! go-llm: a toolkit with two tools, a prompt file and two resources, whose delegate creates connectors, runs prompts and receives events, and a remote
//! connector that goes away and comes back.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::Context as _;
use kit_examples::LocalServer;
use tool_agent::{ScriptedModel, model::Reply};
use tool_kit::{
    agent::{AgentDelegate, Models},
    catalogue::{Catalogue, CatalogueChange, CatalogueListener, ConnectorState, ItemQuery, json_input},
    mcp::McpConnectorFactory,
    prompt::PromptFile,
    resource::{ReadableResource as _, StoredResource},
};
use tool_runtime::{
    CancellationToken, RunContext, Toolbox,
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

/// Receives events until a server is connected, or is not.
async fn receive_events(listener: &mut CatalogueListener, is_connected: bool) -> anyhow::Result<()> {
    let mut lists = BTreeSet::new();
    loop {
        let event = listener.next().await.context("the catalogue has ended")??;
        let namespace = event.namespace.as_deref().unwrap_or("builtin");
        match event.change {
            CatalogueChange::Connector { state, .. } => {
                if (state == ConnectorState::Active) == is_connected && event.namespace.is_some() {
                    lists.iter().for_each(|line| println!("{line}"));
                    println!("event: {namespace} is {state}");
                    return Ok(());
                }
            }
            change => _ = lists.insert(format!("event: {change:?} of {namespace}")),
        }
    }
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
        .with_delegate(AgentDelegate::new(Models::new(model)?))
        .with_connector_factory(McpConnectorFactory::new());
    let stop = CancellationToken::new();
    let (ended, used) = tokio::join!(catalogue.run(stop.clone()), use_items(&catalogue, stop));
    ended?;
    used
}

async fn use_items(catalogue: &Catalogue, stop: CancellationToken) -> anyhow::Result<()> {
    let _stop_at_end = stop.drop_guard();
    let mut listener = catalogue.subscribe();
    catalogue.add_prompt(PromptFile::load(concat!(env!("CARGO_MANIFEST_DIR"), "/ports/explain.md"))?)?;
    catalogue.add_resource(StoredResource::text("notes", "Buy milk.")?.with_uri("notes://today")?);
    catalogue.add_resource(StoredResource::json("settings", &json!({ "language": "en" }))?);
    let server = LocalServer::start(None).await?;
    catalogue.add_server(&server.url())?;
    receive_events(&mut listener, true).await?;

    let items = catalogue.snapshot(&Arc::new(RunContext::new())).await?;
    for item in items.list(&ItemQuery::all()).items {
        println!("{:?} {}", item.kind(), item.key());
    }
    for key in ["add", "search", "books.search", "notes://today", "library://hours#books"] {
        let item = items.lookup(key)?;
        println!("{key} is the {:?} `{}` of {}", item.kind(), item.name(), item.namespace());
    }
    call(catalogue, "add", json!({ "a": 2, "b": 3 })).await;
    call(catalogue, "explain", json!({ "topic": "tides" })).await;
    call(catalogue, "books.search", json!({ "query": "Tides" })).await;

    let address = server.stop().await?;
    receive_events(&mut listener, false).await?;
    call(catalogue, "books.search", json!({ "query": "Tides" })).await;
    let server = LocalServer::start(Some(address)).await?;
    receive_events(&mut listener, true).await?;
    call(catalogue, "books.search", json!({ "query": "Tides" })).await;
    catalogue.remove_connector(&server.url()).await?;
    call(catalogue, "books.search", json!({ "query": "Tides" })).await;
    server.stop().await?;
    Ok(())
}
