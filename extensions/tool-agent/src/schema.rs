//! Schemas of outputs.

use serde_json::Value;

/// Returns `true` if the schema describes an object by its properties alone, which each provider supports as a root.
pub(crate) fn is_plain_object(schema: &Value) -> bool {
    const OTHER_KEYWORDS: [&str; 8] = ["oneOf", "anyOf", "allOf", "not", "if", "$ref", "enum", "const"];
    schema["type"] == "object" && OTHER_KEYWORDS.iter().all(|keyword| schema.get(keyword).is_none())
}
