//! The tools of a server: listing them, and their definitions.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

use rmcp::model::{
    ClientRequest, ListToolsRequest, ListToolsResult, PaginatedRequestParams, ServerResult, Tool as RawTool,
};
use serde_json::{Value, json};
use tool_runtime::{
    Tool, ToolDefinition, ToolName,
    definition::Metadata,
    diagnostic::{Diagnostic, Severity},
    policy::Escape,
    schema::{InputSchema, OutputSchema},
};

use super::{
    connection::{Connection, Parts},
    error::ClientError,
    link::Link,
    tool::RemoteTool,
};
use crate::content;

/// The most pages and tools that one listing has.
const PAGES: usize = 1_000;
const TOOLS: usize = 10_000;

/// A listing: the tools as received, and why some cannot be used.
#[derive(Default)]
pub(super) struct Raw {
    pub(super) tools: Vec<RawTool>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Link {
    /// Lists the tools of the server, all pages; again from the first page if the connection was lost.
    pub(super) async fn list(&self) -> Result<Raw, ClientError> {
        self.again(|connection| self.pages(connection)).await
    }

    /// Does an operation that may be repeated, over new connections as far as they are allowed.
    pub(super) async fn again<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        operation: impl Fn(Arc<Connection>) -> F,
    ) -> Result<T, ClientError> {
        let mut connection = self.connection().await?;
        let mut left = self.config.reconnect;
        loop {
            match operation(Arc::clone(&connection)).await {
                Err(error) if error.is_loss() && left > 0 => {
                    left -= 1;
                    connection = self.instead_of(&connection).await?;
                }
                Err(error) => {
                    if error.is_loss() && self.config.reconnect > 0 {
                        self.forget(&connection);
                    }
                    return Err(error);
                }
                Ok(done) => return Ok(done),
            }
        }
    }

    async fn pages(&self, connection: Arc<Connection>) -> Result<Raw, ClientError> {
        let mut raw = Raw::default();
        let mut cursors = HashSet::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let answer = self.ask(&connection, request).await?;
            let page = self.page(answer, &mut raw.diagnostics)?;
            raw.tools.extend(page.tools);
            if raw.tools.len() + raw.diagnostics.len() > TOOLS {
                return Err(ClientError::unusable(&self.name, format!("it lists more than {TOOLS} tools")));
            }
            match page.next_cursor {
                None => return Ok(raw),
                Some(next) if !cursors.insert(next.clone()) => {
                    return Err(ClientError::unusable(&self.name, "its pages repeat"));
                }
                next => cursor = next,
            }
        }
        Err(ClientError::unusable(&self.name, format!("it has more than {PAGES} pages")))
    }

    /// Sends a request outside of calls.
    pub(super) async fn ask(
        &self,
        connection: &Connection,
        request: ClientRequest,
    ) -> Result<ServerResult, ClientError> {
        #[cfg_attr(not(feature = "http"), expect(unused_mut, reason = "headers are of HTTP"))]
        let mut parts = Parts { timeouts: Some(self.config.timeouts()), ..Parts::default() };
        #[cfg(feature = "http")]
        {
            parts.headers = self.request_headers(None).await?;
        }
        connection.request(request, parts).await
    }

    /// Reads a page. One with a malformed tool is read tool by tool.
    fn page(
        &self,
        answer: ServerResult,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<ListToolsResult, ClientError> {
        let mut value = match answer {
            ServerResult::ListToolsResult(page) => return Ok(page),
            ServerResult::CustomResult(value) => value.0,
            _ => return Err(ClientError::unusable(&self.name, "it is no list of tools")),
        };
        let Some(Value::Array(tools)) = value.get_mut("tools").map(Value::take) else {
            return Err(ClientError::unusable(&self.name, "it is no list of tools"));
        };
        let next_cursor = value.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        let mut page = ListToolsResult { next_cursor, ..ListToolsResult::default() };
        for mut tool in tools {
            if let Value::Object(tool) = &mut tool
                && tool.get("inputSchema").is_none_or(Value::is_null)
            {
                tool.insert("inputSchema".to_owned(), json!({ "type": "object", "properties": {} }));
            }
            let name = tool.get("name").and_then(Value::as_str).unwrap_or("without a name").to_owned();
            match serde_json::from_value(tool) {
                Ok(tool) => page.tools.push(tool),
                Err(error) => diagnostics.push(malformed(&name, &error.to_string())),
            }
        }
        Ok(page)
    }
}

/// A tool whose definition cannot be used.
fn malformed(tool: &str, reason: &str) -> Diagnostic {
    let reason = Escape::LINE.at_most(300).text(reason);
    about(
        Severity::Error,
        "malformed",
        tool,
        &format!("its definition is malformed, and it is left out: {reason}"),
    )
}

fn about(severity: Severity, code: &'static str, tool: &str, problem: &str) -> Diagnostic {
    let tool = Escape::LINE.at_most(100).text(tool);
    Diagnostic::new(severity, code, format!("the tool `{tool}`: {problem}")).of_tool(tool)
}

/// Returns the diagnostics of a tool that is used.
fn peculiarities(tool: &RawTool, definition: &ToolDefinition) -> impl Iterator<Item = Diagnostic> {
    let renamed = (definition.name().as_str() != tool.name).then(|| {
        about(Severity::Note, "renamed", &tool.name, &format!("it is named `{}` here", definition.name()))
    });
    let description = tool.description.as_deref().unwrap_or_default();
    let hides = |text: &str| Escape::LINES.text(text) != text.replace("\r\n", "\n").replace('\t', "        ");
    let hidden = (hides(&tool.name) || hides(definition.title()) || hides(description)).then(|| {
        let problem = "its name, title or description has characters that a person does not see";
        about(Severity::Warning, "hidden_text", &tool.name, problem)
    });
    renamed.into_iter().chain(hidden)
}

/// The rules for reading definitions.
#[derive(Clone, Default)]
pub(super) struct Reading {
    pub(super) include: Option<HashSet<String>>,
    pub(super) exclude: HashSet<String>,
    pub(super) conservative: bool,
}

impl Reading {
    pub(super) fn keeps(&self, raw: &str) -> bool {
        self.include.as_ref().is_none_or(|names| names.contains(raw)) && !self.exclude.contains(raw)
    }

    /// Makes tools of a listing. Unchanged tools stay those of `before`.
    pub(super) fn tools(
        &self,
        raw: &mut Raw,
        before: &[Arc<RemoteTool>],
        link: &Arc<Link>,
    ) -> Vec<Arc<RemoteTool>> {
        let known: HashMap<&str, &Arc<RemoteTool>> =
            before.iter().map(|tool| (tool.raw().name.as_ref(), tool)).collect();
        let mut names = HashMap::new();
        let mut tools = Vec::new();
        for tool in raw.tools.iter().filter(|tool| self.keeps(&tool.name)) {
            let made = match known.get(tool.name.as_ref()) {
                Some(before) if before.raw() == tool => Ok(Arc::clone(before)),
                _ => self
                    .definition(tool, &link.name)
                    .map(|definition| Arc::new(RemoteTool::new(tool.clone(), definition, Arc::clone(link)))),
            };
            let made = match made {
                Ok(made) => made,
                Err(reason) => {
                    raw.diagnostics.push(malformed(&tool.name, &reason));
                    continue;
                }
            };
            let name = made.definition().name().clone();
            match names.entry(name) {
                Entry::Occupied(taken) => {
                    let problem =
                        format!("another tool is named `{}`, and this one is left out", taken.key());
                    raw.diagnostics.push(about(Severity::Error, "duplicate", &tool.name, &problem));
                }
                Entry::Vacant(free) => {
                    free.insert(());
                    raw.diagnostics.extend(peculiarities(tool, made.definition()));
                    tools.push(made);
                }
            }
        }
        tools
    }

    /// Makes a definition of a tool. Schemas stay as they are.
    pub(super) fn definition(&self, tool: &RawTool, server: &str) -> Result<ToolDefinition, String> {
        let name = ToolName::from_foreign(&tool.name);
        let schema = InputSchema::new(Value::Object((*tool.input_schema).clone()));
        let schema = schema.map_err(|error| error.to_string())?;
        let description = match tool.description.as_deref().map(str::trim) {
            None | Some("") => format!("The tool `{}` of the server `{server}`.", tool.name),
            Some(_) => tool.description.as_deref().unwrap_or_default().to_owned(),
        };
        let mut definition =
            ToolDefinition::new(name, description, schema).with_metadata(self.metadata(tool));
        let title =
            tool.title.as_ref().or_else(|| tool.annotations.as_ref().and_then(|hints| hints.title.as_ref()));
        if let Some(title) = title {
            definition = definition.with_title(title.clone());
        }
        if let Some(schema) = &tool.output_schema {
            let schema = OutputSchema::new(Value::Object((**schema).clone()));
            definition = definition.with_output_schema(schema.map_err(|error| error.to_string())?);
        }
        Ok(definition)
    }

    fn metadata(&self, tool: &RawTool) -> Metadata {
        let metadata = content::from_annotations(tool.annotations.as_ref());
        if self.conservative { metadata.conservative() } else { metadata }
    }
}
