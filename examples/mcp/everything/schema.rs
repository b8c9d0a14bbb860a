//! Schemas with keywords of others: listed as they were written.

use tool_runtime::prelude::*;

/// Keeps a contact.
#[tool(input_schema = contact())]
fn json_schema_2020_12_tool(#[args] contact: Value) -> String {
    format!("Contact: {contact}")
}

/// Tells the region of a request, which its HTTP headers repeat for proxies.
#[tool(read_only)]
fn test_x_mcp_header(
    /// Name of the region.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
) -> String {
    region
}

fn contact() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
