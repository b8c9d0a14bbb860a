//! A server on this machine, in place of a remote one: a library with a tool, a prompt and a resource. The programs start it themselves.

use std::net::SocketAddr;

use tokio::{net::TcpListener, task::JoinSet};
use tool_kit::{
    mcp::{offer_prompt, offer_resource},
    prompt::PromptFile,
    resource::{ReadableResource as _, StoredResource},
};
use tool_mcp::server::{McpServer, PromptSet, ResourceSet, ServeError};
use tool_runtime::{CancellationToken, Toolbox, prelude::*};

const SUMMARY: &str = "\
---
name: summary
description: Summarises a book.
input: { type: object, properties: { title: { type: string } }, required: [title] }
---
Summarise `{{ .title }}` in one sentence.
";

/// Finds books.
#[tool(register = false, read_only)]
fn search(query: String) -> String {
    format!("`{query} and Waves`, by A. Sailor")
}

/// Lends a book.
#[tool(register = false)]
fn lend(title: String) -> String {
    format!("`{title}` is lent for four weeks")
}

/// A server that runs until it is stopped.
#[derive(Debug)]
pub struct LocalServer {
    tools: Toolbox,
    resources: ResourceSet,
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinSet<Result<(), ServeError>>,
}

impl LocalServer {
    /// Starts a server at an address, or at a free port of this machine.
    ///
    /// # Errors
    ///
    /// If the address is taken.
    pub async fn start(address: Option<SocketAddr>) -> anyhow::Result<Self> {
        let tools = Toolbox::from_registry(&Registry::builder().tool::<search>().build()?);
        let prompts = offer_prompt(PromptSet::new(), PromptFile::parse(SUMMARY)?);
        let resources = offer_resource(ResourceSet::new(), hours("9 to 5")?);
        let listener = TcpListener::bind(address.unwrap_or(([127, 0, 0, 1], 0).into())).await?;
        let (address, stop) = (listener.local_addr()?, CancellationToken::new());
        let server = McpServer::new(tools.clone()).named("books", "1.0.0").prompts(prompts);
        let server = server.resources(resources.clone()).http()?;
        let mut serving = JoinSet::new();
        serving.spawn(server.serve(listener, stop.clone()));
        Ok(Self { tools, resources, address, stop, serving })
    }

    /// Returns the URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Adds a tool; clients learn of it.
    ///
    /// # Errors
    ///
    /// If it was added before.
    pub fn add_tool(&self) -> anyhow::Result<()> {
        Ok(self.tools.add_all(Registry::builder().tool::<lend>().build()?.get("lend").cloned())?)
    }

    /// Changes the content of the resource; clients that subscribed to it learn of it.
    ///
    /// # Errors
    ///
    /// If the resource is invalid.
    pub fn change_hours(&self) -> anyhow::Result<()> {
        drop(offer_resource(self.resources.clone(), hours("closed")?));
        Ok(())
    }

    /// Stops the server, and returns its address.
    ///
    /// # Errors
    ///
    /// If the server failed.
    pub async fn stop(mut self) -> anyhow::Result<SocketAddr> {
        self.stop.cancel();
        while let Some(served) = self.serving.join_next().await {
            served??;
        }
        Ok(self.address)
    }
}

fn hours(text: &str) -> anyhow::Result<impl tool_kit::resource::ReadableResource + use<>> {
    Ok(StoredResource::text("hours", text)?.with_uri("library://hours")?)
}
