//! The catalogue of tools, prompts and resources.

mod calls;
mod changes;
mod delegates;
mod isolation;
mod item_json;
mod lookup;
mod model;
mod prompt_tools;
#[cfg(feature = "mcp")]
mod servers;

use std::sync::Arc;

use tool_kit::{
    catalogue::{Catalogue, CatalogueChange, CatalogueListener, CatalogueSnapshot, Connector, ItemQuery},
    prompt::{Prompt, PromptDefinition, text_prompt},
    resource::{ReadableResource, StoredResource},
};
use tool_runtime::{
    BoxFuture, RunContext, Tool, ToolSet, prelude::*, testing::ScriptedTool, toolset::NamedTools,
};

/// Adds two numbers.
#[cfg(feature = "mcp")]
#[tool(register = false)]
pub(crate) fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Returns a tool whose calls return 5, each time.
pub(crate) fn tool(name: &str) -> Arc<dyn Tool> {
    Arc::new(ScriptedTool::new(name).gives("5"))
}

pub(crate) fn prompt(name: &str) -> Arc<dyn Prompt> {
    let text = name.to_owned();
    Arc::new(text_prompt(PromptDefinition::new(name).unwrap(), move |_| Ok(text.clone())))
}

fn resource(uri: &str) -> Arc<dyn ReadableResource> {
    Arc::new(StoredResource::must_text("notes", uri).with_uri(uri).unwrap())
}

/// A connector with fixed items.
#[derive(Clone, Default)]
pub(crate) struct Fixed {
    namespace: String,
    tools: Vec<Arc<dyn Tool>>,
    prompts: Vec<Arc<dyn Prompt>>,
    resources: Vec<Arc<dyn ReadableResource>>,
}

impl Fixed {
    /// One with an item of each kind.
    pub(crate) fn named(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            tools: vec![tool("search")],
            prompts: vec![prompt("search"), prompt("greet")],
            resources: vec![resource("notes://today")],
        }
    }
}

impl Connector for Fixed {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn toolset(&self) -> Option<Arc<dyn ToolSet>> {
        Some(Arc::new(NamedTools::new(self.namespace.clone(), self.tools.clone())))
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        Box::pin(async { Ok(self.prompts.clone()) })
    }

    fn resources<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn ReadableResource>>, ToolError>> {
        Box::pin(async { Ok(self.resources.clone()) })
    }
}

pub(crate) async fn snapshot(catalogue: &Catalogue) -> CatalogueSnapshot {
    catalogue.snapshot(&Arc::new(RunContext::new())).await.unwrap()
}

pub(crate) async fn keys(catalogue: &Catalogue) -> Vec<String> {
    let items = snapshot(catalogue).await.list(&ItemQuery::all()).items;
    items.iter().map(|item| item.key().to_owned()).collect()
}

/// Returns the buffered events of items: the namespaces with what has changed.
fn told(listener: &mut CatalogueListener) -> Vec<(Option<String>, CatalogueChange)> {
    let events = std::iter::from_fn(|| listener.try_next().map(|event| event.unwrap()));
    let events = events.filter(|event| !matches!(event.change, CatalogueChange::Connector { .. }));
    events.map(|event| (event.namespace, event.change)).collect()
}
