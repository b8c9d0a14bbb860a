//! The four tools of a broker.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tool_runtime::{
    Tool, ToolContext, ToolDefinition, ToolError, ToolName, ToolOutput,
    definition::{Metadata, Prepared},
    schema::{Arguments, InputSchema, OutputSchema},
};

use super::{BrokerSettings, operations::UrlAccess};
use crate::client::ConfigError;

/// One of the four tools.
pub(super) struct BrokerTool {
    kind: BrokerToolKind,
    definition: ToolDefinition,
    settings: Arc<BrokerSettings>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BrokerToolKind {
    ListServers,
    ListTools,
    InspectTools,
    Call,
}

impl BrokerTool {
    /// Makes the four tools.
    pub(super) fn create_broker_tools(settings: &Arc<BrokerSettings>) -> Result<Vec<Self>, ConfigError> {
        let kinds = [
            BrokerToolKind::ListServers,
            BrokerToolKind::ListTools,
            BrokerToolKind::InspectTools,
            BrokerToolKind::Call,
        ];
        let make = |kind: BrokerToolKind| {
            let definition = kind.tool_definition(settings.allows_urls);
            let definition = definition.map_err(|problem| ConfigError::new("broker", problem))?;
            Ok(Self { kind, definition, settings: Arc::clone(settings) })
        };
        kinds.into_iter().map(make).collect()
    }

    async fn run_operation(
        &self,
        arguments: Map<String, Value>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let mut call_arguments = BrokerArguments { arguments, tool: self.kind.name() };
        let access = UrlAccess {
            transport: call_arguments
                .take_non_null("transport")?
                .map(|value| value.as_str().unwrap_or_default().to_owned()),
            headers: match call_arguments.take_non_null("headers")? {
                Some(Value::Object(headers)) => headers,
                _ => Map::new(),
            },
        };
        let settings = &self.settings;
        let value = match self.kind {
            BrokerToolKind::ListServers => settings.list_servers(),
            BrokerToolKind::ListTools => {
                settings.list_tools(&call_arguments.take_selector()?, access, cx).await?
            }
            BrokerToolKind::InspectTools => {
                let (selector, names) = (call_arguments.take_selector()?, call_arguments.take_tool_names()?);
                let with_output =
                    call_arguments.take_non_null("include_output_schema")?.is_some_and(|it| it == true);
                settings.inspect_tools(&selector, &names, with_output, access, cx).await?
            }
            BrokerToolKind::Call => {
                let (selector, arguments) =
                    (call_arguments.take_selector()?, call_arguments.take_tool_arguments()?);
                return settings.call_tool(&selector, arguments, access, cx).await;
            }
        };
        ToolOutput::json(&value)
    }
}

impl Tool for BrokerTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let Value::Object(received) = arguments.to_value()? else {
            return Err(ToolError::bad_parameter("the arguments of a tool are an object"));
        };
        self.kind.check_arguments(&received, self.settings.allows_urls)?;
        Ok(Prepared::new(arguments, move |_, cx| Box::pin(self.run_operation(received, cx))))
    }

    /// The messages of `prepare` say how a call is written.
    fn holds_arguments(&self) -> bool {
        true
    }
}

/// The arguments of a call.
struct BrokerArguments {
    arguments: Map<String, Value>,
    tool: &'static str,
}

impl BrokerArguments {
    /// Takes a member; `null` is none.
    fn take_non_null(&mut self, name: &str) -> Result<Option<Value>, ToolError> {
        Ok(self.arguments.shift_remove(name).filter(|value| !value.is_null()))
    }

    fn take_selector(&mut self) -> Result<String, ToolError> {
        match self.take_non_null("selector")? {
            Some(Value::String(selector)) if !selector.trim().is_empty() => Ok(selector.trim().to_owned()),
            _ => Err(ToolError::bad_parameter(format!("`{}` needs `selector`, a string", self.tool))),
        }
    }

    fn take_tool_names(&mut self) -> Result<Vec<String>, ToolError> {
        let wrong = || ToolError::bad_parameter("`tools` is a list of names of tools");
        let Some(Value::Array(names)) = self.take_non_null("tools")? else { return Err(wrong()) };
        names.into_iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
    }

    fn take_tool_arguments(&mut self) -> Result<Map<String, Value>, ToolError> {
        match self.arguments.shift_remove("arguments") {
            Some(Value::Object(arguments)) => Ok(arguments),
            _ => Err(ToolError::bad_parameter(
                "`arguments` is an object with the arguments of the tool; pass `{}` if it has none",
            )),
        }
    }
}

impl BrokerToolKind {
    fn name(self) -> &'static str {
        match self {
            Self::ListServers => "mcp_list_servers",
            Self::ListTools => "mcp_list_tools",
            Self::InspectTools => "mcp_inspect_tools",
            Self::Call => "mcp_call",
        }
    }

    /// Returns the names of its parameters.
    fn parameter_names(self, allows_urls: bool) -> Vec<&'static str> {
        let mut names = match self {
            Self::ListServers => return Vec::new(),
            Self::ListTools => vec!["selector"],
            Self::InspectTools => vec!["selector", "tools", "include_output_schema"],
            Self::Call => vec!["selector", "arguments"],
        };
        if allows_urls {
            names.extend(["transport", "headers"]);
        }
        names
    }

    /// Checks a call before it runs.
    fn check_arguments(self, received: &Map<String, Value>, allows_urls: bool) -> Result<(), ToolError> {
        let known = self.parameter_names(allows_urls);
        // Without URLs, a transport or headers have no effect.
        let ignored = ["transport", "headers"];
        let unknown =
            received.keys().find(|name| !known.contains(&name.as_str()) && !ignored.contains(&name.as_str()));
        if let Some(name) = unknown {
            let hint = match self {
                Self::Call => "; the arguments of the tool belong into `arguments`",
                _ => "",
            };
            return Err(ToolError::bad_parameter(format!(
                "`{}` has no parameter `{name}`{hint}",
                self.name()
            )));
        }
        let mut call_arguments = BrokerArguments { arguments: received.clone(), tool: self.name() };
        if self != Self::ListServers {
            call_arguments.take_selector()?;
        }
        match self {
            Self::InspectTools => call_arguments.take_tool_names().map(drop),
            Self::Call => call_arguments.take_tool_arguments().map(drop),
            Self::ListServers | Self::ListTools => Ok(()),
        }
    }

    fn tool_definition(self, allows_urls: bool) -> Result<ToolDefinition, String> {
        let text_of = |error: &dyn std::error::Error| error.to_string();
        let properties: Map<String, Value> = self
            .parameter_names(allows_urls)
            .into_iter()
            .map(|name| (name.to_owned(), self.parameter_schema(name, allows_urls)))
            .collect();
        let required: Vec<_> = properties
            .keys()
            .filter(|name| ["selector", "tools", "arguments"].contains(&name.as_str()))
            .collect();
        let input = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        let input = InputSchema::new(input).map_err(|error| text_of(&error))?;
        let output = OutputSchema::new(self.output_schema()).map_err(|error| text_of(&error))?;
        let name = ToolName::new(self.name()).map_err(|error| text_of(&error))?;
        let read_only = (self == Self::ListServers).then_some(true);
        Ok(ToolDefinition::new(name, self.description(), input)
            .with_output_schema(output)
            .with_metadata(Metadata { read_only, ..Metadata::default() }))
    }

    fn description(self) -> &'static str {
        match self {
            Self::ListServers => "Lists the MCP servers that can be used, with their descriptions.",
            Self::ListTools => {
                "Lists the tools of one MCP server: name, selector for `mcp_call`, signature and description. \
                 A parameter with `?` is optional."
            }
            Self::InspectTools => {
                "Returns the JSON Schemas of the arguments of some tools of one MCP server. Use it before \
                 `mcp_call` if the signature of a tool is not enough."
            }
            Self::Call => "Calls one tool of an MCP server and returns its result.",
        }
    }

    fn parameter_schema(self, name: &str, allows_urls: bool) -> Value {
        let or_url = if allows_urls { ", or its http(s) URL" } else { "" };
        match name {
            "selector" if self == Self::Call => json!({
                "type": "string",
                "description": "The selector of the tool, as `mcp_list_tools` prints it: `server.tool`.",
            }),
            "selector" => json!({
                "type": "string", "description": format!("The name of the server{or_url}."),
            }),
            "tools" => json!({
                "type": "array", "items": { "type": "string" }, "minItems": 1,
                "description": "The exact names of the tools.",
            }),
            "include_output_schema" => json!({
                "type": "boolean", "description": "Whether the schemas of the results are returned, too.",
            }),
            "arguments" => json!({
                "type": "object", "description": "The arguments of the tool; `{}` if it has none.",
            }),
            "transport" => json!({
                "type": "string", "enum": ["http", "sse"],
                "description": "The transport of a server selected by URL. Default: `http`.",
            }),
            _ => json!({
                "type": "object", "additionalProperties": { "type": "string" },
                "description": "HTTP headers for a server selected by URL, without credentials.",
            }),
        }
    }

    fn output_schema(self) -> Value {
        let text = json!({ "type": "string" });
        let list = |name: &str, item: Value, required: &[&str]| {
            let item = json!({ "type": "object", "properties": item, "required": required });
            json!({ "type": "object", "properties": { name: { "type": "array", "items": item } }, "required": [name] })
        };
        match self {
            Self::ListServers => {
                let server = json!({ "name": text, "transport": text, "description": text });
                list("servers", server, &["name", "transport"])
            }
            Self::ListTools => {
                let tool = json!({
                    "name": text, "selector": text, "signature": text, "description": text,
                    "hasOutputSchema": { "type": "boolean" },
                });
                list("tools", tool, &["name", "selector", "signature", "hasOutputSchema"])
            }
            Self::InspectTools => {
                let schema = json!({ "type": "object" });
                let tool = json!({
                    "name": text, "selector": text, "description": text, "inputSchema": schema, "outputSchema": schema,
                });
                list("tools", tool, &["name", "selector", "inputSchema"])
            }
            Self::Call => json!({
                "type": "object",
                "properties": {
                    "structuredContent": {},
                    "content": { "type": "array", "items": { "type": "object" } },
                    "isError": { "type": "boolean" },
                },
            }),
        }
    }
}
