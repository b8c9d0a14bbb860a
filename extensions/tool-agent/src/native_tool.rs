//! Tools that providers run themselves.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use tool_runtime::{
    ToolError,
    request::{ModelRequest, RequestHook},
};

/// A tool of a provider, such as a search, under a name and a description of the program: it has no declaration and no body. Its entry is
/// added to the requests of each provider that has it, as it is. A request of another provider has a notice, once in a run.
///
/// The name is for messages and lists of the program; no model receives it. A native tool whose calls reach the program is configured in the
/// dialect: see [`Dialect::with_native`](tool_runtime::Dialect::with_native).
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, NativeTool, ScriptedModel, model::Reply};
/// use tool_runtime::prelude::*;
///
/// let search = NativeTool::new("web", "Searches the web.")
///     .entry("gemini", json!({ "googleSearch": {} }))
///     .entry("anthropic", json!({ "type": "web_search_20250305", "name": "web_search" }));
/// let agent = Agent::builder("clerk", ScriptedModel::new([Reply::text("Hello.")])).native_tool(search).build()?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NativeTool {
    name: Arc<str>,
    description: Arc<str>,
    /// The entries by the names of dialects.
    entries: BTreeMap<String, Value>,
}

impl NativeTool {
    /// Creates a native tool that no provider has.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), description: description.into(), entries: BTreeMap::new() }
    }

    /// Sets the entry for the requests of a dialect, such as `gemini`: see [`Dialect::name`](tool_runtime::Dialect::name).
    #[must_use]
    pub fn entry(mut self, dialect: impl Into<String>, entry: Value) -> Self {
        self.entries.insert(dialect.into(), entry);
        self
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    fn unavailable_notice(&self, dialect: &str) -> String {
        let names: Vec<_> = self.entries.keys().map(|name| format!("`{name}`")).collect();
        let names = if names.is_empty() { "no provider".to_owned() } else { names.join(", ") };
        let name = &self.name;
        format!(
            "the native tool `{name}` is not available: it has an entry for {names}, and the model is of `{dialect}`"
        )
    }
}

impl RequestHook for NativeTool {
    async fn on_request(&self, request: ModelRequest) -> Result<(), ToolError> {
        let dialect = request.dialect();
        if let Some(entry) = self.entries.get(dialect) {
            request.add_native(entry.clone());
            return Ok(());
        }
        let run = request.run();
        let key = format!("tool-agent:native-tool-notice:{}:{dialect}:{}", run.id(), self.name);
        if run.value::<()>(&key).is_none() {
            run.set(key, ());
            request.notify(self.unavailable_notice(dialect));
        }
        Ok(())
    }

    fn name(&self) -> &str {
        &self.name
    }
}
