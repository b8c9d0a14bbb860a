//! The definition of a tool.

use serde_json::Value;

use crate::dialect::provider::{Definition, object};

pub(super) fn tool_definition(tool: Definition<'_>) -> Value {
    let mut definition = object([
        ("name", tool.name.into()),
        ("description", tool.description.into()),
        ("input_schema", tool.parameters),
    ]);
    if tool.strict {
        definition["strict"] = true.into();
    }
    if !tool.examples.is_empty() {
        definition["input_examples"] = tool.examples.into();
    }
    definition
}
