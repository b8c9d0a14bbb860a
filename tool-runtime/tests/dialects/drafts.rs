//! Conversion of schemas of earlier drafts to 2020-12, which providers read.

use serde_json::{Value, json};
use tool_runtime::{
    Registry, ToolDefinition, ToolName, builder::ExternalTool, dialect::Dialect, schema::InputSchema,
};

fn registry<'t>(schemas: impl IntoIterator<Item = (&'t str, &'t Value)>) -> Registry {
    let tool = |(name, schema): (&str, &Value)| {
        let (name, schema) =
            (ToolName::new(name.to_owned()).unwrap(), InputSchema::new(schema.clone()).unwrap());
        ExternalTool::new(ToolDefinition::new(name, "Is old.", schema))
    };
    schemas.into_iter().fold(Registry::builder(), |builder, it| builder.add(tool(it))).build().unwrap()
}

/// The arguments of the only tool.
fn sent(dialect: &Dialect, schema: &Value) -> Value {
    let definition = dialect.bind_tools(&registry([("old", schema)])).definitions()[0].clone();
    let keys =
        ["/input_schema", "/inputSchema", "/parameters", "/functionDeclarations/0/parametersJsonSchema"];
    keys.iter().find_map(|key| definition.pointer(key)).unwrap().clone()
}

// Schemas of old generators have no `$schema`.
#[test]
fn definitions_are_sent_where_providers_look_for_them() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/definitions/a" }, "definitions": { "type": "string" } },
        "definitions": { "a": { "type": "array", "items": { "$ref": "#/definitions/a" } } },
        "additionalProperties": false,
    });
    let moved = json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/a" }, "definitions": { "type": "string" } },
        "$defs": { "a": { "type": "array", "items": { "$ref": "#/$defs/a" } } },
        "additionalProperties": false,
    });
    assert_eq!(sent(&Dialect::anthropic(), &schema), moved);
    assert_eq!(sent(&Dialect::gemini(), &schema)["$defs"], moved["$defs"]);
    assert_eq!(sent(&Dialect::openai_responses_strict(), &schema)["$defs"], moved["$defs"]);
    assert_eq!(sent(&Dialect::mcp(), &schema), schema);
}

/// Keywords of a draft, and their equivalents in 2020-12.
#[cfg(feature = "foreign-schemas")]
fn cases() -> Vec<(&'static str, &'static str, Value, Value)> {
    let string = || json!({ "type": "string" });
    let (four, seven) =
        ("http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#");
    let nine = "https://json-schema.org/draft/2019-09/schema";
    vec![
        (
            "closed_tuple",
            seven,
            json!({ "type": "array", "items": [string(), { "type": "integer" }], "additionalItems": false }),
            json!({ "type": "array", "prefixItems": [string(), { "type": "integer" }], "items": false }),
        ),
        (
            "open_tuple",
            nine,
            json!({ "type": "array", "items": [string()], "additionalItems": { "items": [string()] } }),
            json!({ "type": "array", "prefixItems": [string()], "items": { "prefixItems": [string()] } }),
        ),
        (
            "list",
            seven,
            json!({ "type": "array", "items": string(), "additionalItems": false }),
            json!({ "type": "array", "items": string() }),
        ),
        (
            "bounds",
            four,
            json!({ "type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false }),
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 9 }),
        ),
        ("id", four, json!({ "id": "#a", "type": "string" }), string()),
        (
            "dependencies",
            seven,
            json!({ "type": "object", "dependencies": { "a": ["b"], "c": { "required": ["d"] } } }),
            json!({
                "type": "object",
                "dependentRequired": { "a": ["b"] },
                "dependentSchemas": { "c": { "required": ["d"] } },
            }),
        ),
        (
            "beside_a_reference",
            seven,
            json!({ "$ref": "#/definitions/a", "description": "The a.", "maxLength": 1 }),
            json!({ "$ref": "#/$defs/a", "description": "The a." }),
        ),
    ]
}

#[cfg(feature = "foreign-schemas")]
fn whole(property: &Value) -> Value {
    json!({ "type": "object", "properties": { "value": property }, "additionalProperties": false })
}

#[cfg(feature = "foreign-schemas")]
#[test]
fn schemas_of_earlier_drafts_are_sent_as_2020_12() {
    let mut schemas = Vec::new();
    for (name, draft, old, now) in cases() {
        let (mut old, mut now) = (whole(&old), whole(&now));
        old["$schema"] = draft.into();
        if name == "beside_a_reference" {
            old["definitions"] = json!({ "a": { "type": "string", "minLength": 2 } });
            now["$defs"] = old["definitions"].clone();
        }
        assert_eq!(sent(&Dialect::anthropic(), &old), now, "{name}");
        // Its `$schema` names the draft.
        assert_eq!(sent(&Dialect::mcp(), &old), old, "{name}");
        schemas.push((name, old));
    }
    let registry = registry(schemas.iter().map(|(name, schema)| (*name, schema)));
    for dialect in Dialect::all() {
        let bound = dialect.bind_tools(&registry);
        super::accepted::accepted(dialect.name(), bound.definitions());
        super::world::write_bound("earlier-drafts", dialect.name(), &registry, &bound);
    }
}
