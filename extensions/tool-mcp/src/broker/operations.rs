//! The operations of a broker.

use std::time::Duration;

use rmcp::model::{CallToolResult, Tool as RawTool};
use serde_json::{Map, Value, json};
use tool_runtime::{
    ToolContext, ToolError, ToolOutput,
    diagnostic::{Diagnostic, Severity},
};

use super::{
    BrokerPhase, BrokerSettings, BrokerTarget,
    selector::{self, ServerSelection},
    signature::{required_property_names, tool_signature},
};
use crate::client::{
    ClientError, Endpoint, McpToolSet, ServerConfig, Transport, tool_output, url_without_secrets,
};

/// The time for which the answer of an operation waits for the end of its connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(250);

/// The arguments by which a model reaches a server that it selects by URL.
#[derive(Default)]
pub(super) struct UrlAccess {
    pub(super) transport: Option<String>,
    pub(super) headers: Map<String, Value>,
}

/// A selected server.
struct SelectedServer<'a> {
    settings: &'a BrokerSettings,
    selected: ServerSelection<'a>,
    target: BrokerTarget<'a>,
    set: McpToolSet,
}

impl BrokerSettings {
    /// Lists the servers. Connects to none.
    pub(super) fn list_servers(&self) -> Value {
        let servers = self.servers.values().map(|config| {
            let mut server = json!({ "name": config.name, "transport": config.transport.name() });
            if let Some(description) = &config.description {
                server["description"] = description.as_str().into();
            }
            server
        });
        json!({ "servers": servers.collect::<Vec<_>>() })
    }

    /// Lists the tools of a server, without their schemas.
    pub(super) async fn list_tools(
        &self,
        selector: &str,
        access: UrlAccess,
        cx: &ToolContext,
    ) -> Result<Value, ToolError> {
        let selected_server = self.select_server(selector, BrokerPhase::ListTools, access, cx).await?;
        let mut tools =
            selected_server.run_within_limit_then_close(selected_server.list_admitted_tools()).await?;
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        let tools = tools.iter().map(|tool| {
            let mut entry = json!({
                "name": tool.name,
                "selector": selector::format_tool_selector(selected_server.selected, &tool.name, &self.servers),
                "signature": tool_signature(&tool.name, &tool.input_schema, tool.output_schema.as_deref()),
                "hasOutputSchema": tool.output_schema.is_some(),
            });
            if let Some(description) = &tool.description {
                entry["description"] = Value::from(&**description);
            }
            entry
        });
        Ok(json!({ "tools": tools.collect::<Vec<_>>() }))
    }

    /// Returns the schemas of some tools.
    pub(super) async fn inspect_tools(
        &self,
        selector: &str,
        names: &[String],
        with_output: bool,
        access: UrlAccess,
        cx: &ToolContext,
    ) -> Result<Value, ToolError> {
        let mut wanted: Vec<&str> = Vec::new();
        for name in names {
            if name.trim().is_empty() {
                return Err(ToolError::bad_parameter("`tools` has a blank name"));
            }
            if !wanted.contains(&name.as_str()) {
                wanted.push(name);
            }
        }
        if wanted.is_empty() {
            return Err(ToolError::bad_parameter("`tools` is empty; pass the names of the tools to inspect"));
        }
        let selected_server = self.select_server(selector, BrokerPhase::InspectTools, access, cx).await?;
        let tools =
            selected_server.run_within_limit_then_close(selected_server.list_admitted_tools()).await?;
        let find = |name: &str| tools.iter().find(|tool| tool.name == name);
        let missing: Vec<_> = wanted.iter().filter(|name| find(name).is_none()).collect();
        if !missing.is_empty() {
            let missing: Vec<_> = missing.iter().map(|name| format!("`{name}`")).collect();
            let message =
                format!("the server `{selector}` has no tools {}; list its tools first", missing.join(", "));
            return Err(ToolError::not_found(message));
        }
        let tools = wanted.into_iter().filter_map(find).map(|tool| {
            let mut inspected = json!({
                "name": tool.name,
                "selector": selector::format_tool_selector(selected_server.selected, &tool.name, &self.servers),
                "inputSchema": *tool.input_schema,
            });
            if let Some(description) = &tool.description {
                inspected["description"] = Value::from(&**description);
            }
            if let Some(schema) = tool.output_schema.as_deref().filter(|_| with_output) {
                inspected["outputSchema"] = Value::Object(schema.clone());
            }
            inspected
        });
        Ok(json!({ "tools": tools.collect::<Vec<_>>() }))
    }

    /// Calls a tool once.
    pub(super) async fn call_tool(
        &self,
        selector: &str,
        arguments: Map<String, Value>,
        access: UrlAccess,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let Some((selected, tool)) = selector::parse_tool_selector(selector, &self.servers) else {
            return Err(ToolError::not_found(format!(
                "the selector `{selector}` names no tool of a known server; it is `server.tool`, \
                 as `mcp_list_tools` prints it"
            )));
        };
        let selected_server =
            self.prepare_server(selector, selected, Some(&tool), BrokerPhase::CallTool, access, cx).await?;
        let set = &selected_server.set;
        let called = selected_server.run_within_limit_then_close(async {
            match unknown_tool_or_missing_argument_error(
                &selected_server.list_admitted_tools().await?,
                &tool,
                &arguments,
            ) {
                Some(problem) => Ok(Err(problem)),
                None => set.call_tool_for(cx, &tool, arguments).await.map(Ok),
            }
        });
        called.await?.map(|result| structured_or_content_output(&result))
    }

    async fn select_server<'a>(
        &'a self,
        selector: &'a str,
        phase: BrokerPhase,
        access: UrlAccess,
        cx: &'a ToolContext,
    ) -> Result<SelectedServer<'a>, ToolError> {
        let Some(selected) = selector::parse_server_selector(selector, &self.servers) else {
            let names: Vec<_> = self.servers.keys().map(|name| format!("`{name}`")).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ToolError::not_found(format!(
                "there is no server `{selector}`; known servers: {known}"
            )));
        };
        self.prepare_server(selector, selected, None, phase, access, cx).await
    }

    /// Prepares the toolset of a server. Nothing is connected yet.
    async fn prepare_server<'a>(
        &'a self,
        selector: &'a str,
        selected: ServerSelection<'a>,
        tool: Option<&'a str>,
        phase: BrokerPhase,
        access: UrlAccess,
        cx: &'a ToolContext,
    ) -> Result<SelectedServer<'a>, ToolError> {
        #[cfg_attr(not(feature = "http"), expect(unused_mut, reason = "headers are of HTTP"))]
        let (server, mut config) = match selected {
            ServerSelection::Named(name) => {
                let config = self.servers.get(name).cloned();
                (
                    Some(name),
                    config.ok_or_else(|| ToolError::not_found(format!("there is no server `{name}`")))?,
                )
            }
            ServerSelection::Url(url) => (None, self.server_config_for_url(url, access)?),
        };
        let mut target = BrokerTarget { selector, server, tool, phase, config: config.clone(), call: cx };
        #[cfg(feature = "http")]
        self.hooks.add_headers(&target, &mut config).await?;
        target.config = config.clone();
        let set = self.hooks.apply_options(&target, McpToolSet::builder(config))?.lazy();
        Ok(SelectedServer { settings: self, selected, target, set })
    }

    /// The configuration of a server that the model selects by URL.
    fn server_config_for_url(&self, url: &str, access: UrlAccess) -> Result<ServerConfig, ToolError> {
        if !self.allows_urls {
            return Err(ToolError::new(
                tool_runtime::ErrorKind::Denied,
                "servers cannot be selected by URL here; select one that `mcp_list_servers` lists",
            ));
        }
        if let Some(problem) = model_url_problem(url) {
            return Err(ToolError::bad_parameter(format!("the URL {problem}")));
        }
        let mut endpoint = Endpoint::new(url);
        for (name, value) in access.headers {
            let refused = self.refused_headers.contains(&name.trim().to_ascii_lowercase());
            let Some(value) = value.as_str().filter(|_| !refused) else {
                let reason = if refused { "may not be set" } else { "is not a string" };
                return Err(ToolError::bad_parameter(format!("the header `{name}` {reason}")));
            };
            endpoint = endpoint.header(name, value);
        }
        let transport = match access.transport.as_deref().map(str::trim) {
            None | Some("" | "http" | "streamable" | "streamable_http") => Transport::Http(endpoint),
            Some("sse") => Transport::Sse(endpoint),
            Some(other) => {
                let message =
                    format!("the transport `{other}` is unknown; a server behind a URL has `http` or `sse`");
                return Err(ToolError::bad_parameter(message));
            }
        };
        let config = ServerConfig::new(url_without_secrets(url), transport);
        config.validate().map_err(|error| ToolError::bad_parameter(error.to_string()))?;
        Ok(config)
    }
}

/// Returns the reason why a model may not choose `url`, if any.
fn model_url_problem(url: &str) -> Option<&'static str> {
    // Parsers of URLs read a backslash as a slash, and leave out some of the others.
    if url.chars().any(|it| it == '\\' || it.is_control() || it.is_whitespace()) {
        return Some("has a backslash, a blank or a control character");
    }
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    // They become the header `authorization`.
    authority.is_some_and(|it| it.contains('@')).then_some("has a user or a password, which may not be set")
}

impl SelectedServer<'_> {
    /// Lists the tools of the server that may be used, and notes the others in the diagnostics of the broker.
    async fn list_admitted_tools(&self) -> Result<Vec<RawTool>, ClientError> {
        let listing = self.set.list_admitted_tools().await;
        let diagnostics = match &listing {
            Ok((_, diagnostics)) => diagnostics.clone(),
            Err(error) => {
                let message = format!("the tools of the server could not be listed: {error}");
                vec![Diagnostic::new(Severity::Warning, "not_listed", message)]
            }
        };
        // A server that a model chose is none of the program's.
        if let Some(server) = self.target.server {
            self.settings.diagnostics.replace_and_log_new(server, diagnostics);
        }
        Ok(listing?.0)
    }

    /// Does an operation over a connection of its own, within the time limit.
    async fn run_within_limit_then_close<T>(
        &self,
        operation: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ToolError> {
        let limit = self.settings.time_limit.filter(|_| self.target.is_chosen_by_model());
        let done = match limit {
            None => Some(operation.await),
            Some(limit) => tokio::time::timeout(limit, operation).await.ok(),
        };
        // A process that does not end at once ends behind the answer.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.set.close()).await;
        match done {
            Some(done) => done.map_err(|error| self.settings.hooks.error_for_model(&self.target, error)),
            None => {
                let message = format!("the operation took longer than {:?}", limit.unwrap_or_default());
                Err(ToolError::new(tool_runtime::ErrorKind::TimedOut, message))
            }
        }
    }
}

/// Returns the reason why a tool cannot be called with these arguments.
fn unknown_tool_or_missing_argument_error(
    tools: &[RawTool],
    name: &str,
    arguments: &Map<String, Value>,
) -> Option<ToolError> {
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        return Some(ToolError::not_found(format!("the server has no tool `{name}`; list its tools first")));
    };
    let missing: Vec<_> = required_property_names(&tool.input_schema)
        .filter(|name| !arguments.contains_key(*name))
        .map(|name| format!("`{name}`"))
        .collect();
    (!missing.is_empty()).then(|| {
        let message = format!("`arguments` of the tool `{name}` misses {}", missing.join(", "));
        ToolError::bad_parameter(message)
    })
}

/// The result of a tool: its structured value if there is one, and otherwise its content.
fn structured_or_content_output(result: &CallToolResult) -> ToolOutput {
    let is_error = result.is_error == Some(true);
    // Serializers write `null` for a value that is not there.
    let structured = result.structured_content.as_ref();
    let structured = structured.filter(|value| !value.is_null() || result.content.is_empty());
    let mut value = match structured {
        Some(value) => json!({ "structuredContent": value }),
        None => json!({ "content": result.content }),
    };
    if is_error {
        value["isError"] = true.into();
    }
    let output = match structured {
        Some(_) => ToolOutput::from(value.to_string()).with_structured(value),
        None => tool_output(result).with_structured(value),
    };
    if is_error { output.as_failure() } else { output }
}
