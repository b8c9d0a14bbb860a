//! The definition of a tool.

use serde_json::Value;

use crate::dialect::provider::{Definition, object};

pub(super) fn tool_definition(tool: Definition<'_>) -> Value {
    object([
        ("type", "function".into()),
        ("name", tool.name.into()),
        ("description", tool.description.into()),
        ("parameters", tool.parameters),
        // The default is `true`.
        ("strict", tool.strict.into()),
    ])
}
