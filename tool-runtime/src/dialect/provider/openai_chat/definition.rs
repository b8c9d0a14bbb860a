//! The definition of a tool.

use serde_json::Value;

use crate::dialect::provider::{Definition, object};

pub(super) fn tool_definition(tool: Definition<'_>) -> Value {
    let function = object([
        ("name", tool.name.into()),
        ("description", tool.description.into()),
        ("parameters", tool.parameters),
        ("strict", tool.strict.into()),
    ]);
    object([("type", "function".into()), ("function", function)])
}
