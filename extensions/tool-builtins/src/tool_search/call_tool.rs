//! The tool that calls a tool which a search found.

use serde::Deserialize;
use serde_json::{json, value::RawValue};
use tool_runtime::{
    Tool, ToolDefinition, ToolError, ToolOutput,
    definition::{Prepared, Redirect, Redirection},
    schema::Arguments,
};

use super::{CALL_TOOL, search_tools::tool_definition};

/// The tool `call_tool`: each call stands for a call of the tool that it names, with all rules, approvals and limits of
/// that tool. Created by [`ToolSearch::call_tool`](super::ToolSearch::call_tool).
///
/// An executor and a registry [redirect](Tool::redirect) its calls: it has no body of its own. It cannot call itself, nor tools
/// of the framework, nor those that the caller executes.
#[derive(Debug)]
pub struct CallTool {
    definition: ToolDefinition,
}

#[derive(Deserialize)]
struct CallArguments {
    name: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

impl CallTool {
    pub(super) fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The name of the tool, as `search_tools` returned it." },
                "arguments": {
                    "type": "object",
                    "description": "The arguments of the tool, by its `parameters`.",
                    "additionalProperties": true,
                },
            },
            "required": ["name", "arguments"],
            "additionalProperties": false,
        });
        let description = "Calls a tool that `search_tools` returned. The result is the result of that tool.";
        Self { definition: tool_definition(CALL_TOOL, description, schema) }
    }
}

/// Returns the call for which a call of `call_tool` stands. The text of its arguments is kept, with all digits of its numbers.
fn call_in_arguments(arguments: &Arguments<'_>) -> Result<Redirection, ToolError> {
    let received: CallArguments = serde_json::from_str(arguments.as_str()).map_err(|error| {
        ToolError::bad_parameter(format!("`{CALL_TOOL}` needs `name` and `arguments`: {error}"))
    })?;
    let arguments = match received.arguments {
        Some(raw) => raw.get().to_owned(),
        None => "{}".to_owned(),
    };
    Ok(Redirection::new(received.name, arguments))
}

impl Tool for CallTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| {
            let message = "`call_tool` runs in an executor or a registry, which call the tool that it names";
            Box::pin(async move { Err::<ToolOutput, _>(ToolError::failed(message)) })
        }))
    }

    fn redirect(&self) -> Option<Redirect> {
        Some(call_in_arguments)
    }
}
