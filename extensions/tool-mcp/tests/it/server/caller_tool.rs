//! A tool whose calls are those of the tool that they name.

use serde_json::json;
use tool_runtime::{
    Tool, ToolDefinition, ToolError, ToolName, ToolOutput,
    definition::{Prepared, Redirect, Redirection},
    schema::{Arguments, InputSchema},
};

pub(super) struct CallTool(ToolDefinition);

impl CallTool {
    pub(super) fn new() -> Self {
        let properties = json!({ "name": { "type": "string" }, "arguments": { "type": "object" } });
        let schema = json!({ "type": "object", "properties": properties, "required": ["name", "arguments"] });
        let name = ToolName::new("call_tool").unwrap();
        Self(ToolDefinition::new(name, "Calls a tool.", InputSchema::new(schema).unwrap()))
    }
}

fn named_call(arguments: &Arguments<'_>) -> Result<Redirection, ToolError> {
    let call = arguments.to_value().map_err(|error| ToolError::failed(error.to_string()))?;
    Ok(Redirection::new(call["name"].as_str().unwrap_or_default(), call["arguments"].to_string()))
}

impl Tool for CallTool {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| {
            Box::pin(async {
                Err::<ToolOutput, _>(ToolError::failed("the body of a tool that redirects ran"))
            })
        }))
    }

    fn redirect(&self) -> Option<Redirect> {
        Some(named_call)
    }
}
