//! Inheritance and references with a default, as generators write them.

use serde_json::json;
use tool_runtime::{Registry, builder::ExternalTool, dialect::Dialect};

#[test]
fn all_of_is_sent_as_one_schema_or_as_text_without_references() {
    let choice = json!({ "type": "string", "enum": ["a", "b"] });
    let pet =
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let age = json!({ "type": "object", "properties": { "age": { "type": "integer" } } });
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let properties = [
        json!({ "allOf": [reference("E")], "default": "a" }),
        json!({ "allOf": [choice] }),
        json!({ "allOf": [reference("Pet"), age] }),
        json!({ "allOf": [reference("Pet")], "type": "object", "properties": { "age": { "type": "integer" } } }),
        json!({ "anyOf": [{ "allOf": [reference("E")] }, { "type": "null" }] }),
    ];
    for property in properties {
        for at_root in [false, true] {
            let schema = match at_root {
                true => {
                    json!({ "allOf": [{ "type": "object", "properties": { "p": property } }], "type": "object" })
                }
                false => json!({ "type": "object", "properties": { "p": property } }),
            };
            let mut schema = schema;
            schema["$defs"] = json!({ "E": choice, "Pet": pet });
            let schema = tool_runtime::schema::InputSchema::new(schema).unwrap();
            let name = tool_runtime::ToolName::new("t").unwrap();
            let definition = tool_runtime::ToolDefinition::new(name, "Takes a value.", schema);
            let registry = Registry::builder().add(ExternalTool::new(definition)).build().unwrap();
            for dialect in Dialect::all() {
                let bound = dialect.bind_tools(&registry);
                let sent = bound.definitions_json();
                let case = format!("{}, {at_root}: {property}: {sent}", dialect.name());
                assert!(sent.contains("\"t\""), "{case}: {:?}", bound.diagnostics());
                assert!(!sent.contains("Must also match"), "{case}");
                assert!(
                    sent.contains("\"a\"") || sent.contains("\"name\"") || sent.contains("\"age\""),
                    "{case}"
                );
            }
        }
    }
}
