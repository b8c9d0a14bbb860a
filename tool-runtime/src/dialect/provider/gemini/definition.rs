//! The definition of a tool.

use serde_json::{Value, json};

use crate::dialect::provider::Definition;

pub(super) fn tool_definition(tool: Definition<'_>, json_schema: bool) -> Value {
    let has_some =
        tool.parameters.get("properties").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
    let mut declaration = json!({ "name": tool.name, "description": tool.description });
    if json_schema {
        declaration["parametersJsonSchema"] = tool.parameters;
    } else if has_some {
        // An object without properties is rejected (<https://github.com/agno-agi/agno/issues/2112>); a tool
        // without parameters omits the schema.
        declaration["parameters"] = tool.parameters;
    }
    declaration
}
