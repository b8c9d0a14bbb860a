//! A second, independent list of the schema features that each provider refuses: no definition contains one.

use serde_json::{Map, Value};

type Schema = Map<String, Value>;

/// Checks that the provider accepts the definitions that a dialect sends.
pub(super) fn accepted(dialect: &str, definitions: &Value) {
    for (mut schema, strict) in sent(definitions) {
        let whole = &Value::Object(schema.clone());
        match dialect {
            "openai-chat-strict" | "openai-responses-strict" if strict => {
                root_is_an_object(&schema, "object");
                each(whole, &mut strict_openai);
            }
            "gemini-schema" => {
                root_is_an_object(&schema, "OBJECT");
                each(whole, &mut open_api);
            }
            "mcp" => assert_eq!(schema["type"], "object", "{whole}"),
            "gemini" => {
                root_is_an_object(&schema, "object");
                each(whole, &mut |schema| {
                    // A tuple needs no `items`.
                    if !schema.contains_key("prefixItems") {
                        lists_say_their_items(schema);
                    }
                    nothing_beside_a_reference(schema);
                });
            }
            "anthropic" | "anthropic-strict" => {
                // An empty list of properties may be absent.
                schema.entry("properties").or_insert_with(|| Map::new().into());
                root_is_an_object(&schema, "object");
                if strict {
                    each(whole, &mut strict_anthropic);
                }
                let names = schema["properties"].as_object().unwrap().keys();
                names.for_each(|name| assert!(name.is_ascii() && !name.contains('['), "{name}"));
            }
            _ => {
                root_is_an_object(&schema, "object");
                each(whole, &mut lists_say_their_items);
            }
        }
    }
}

/// Returns the schemas of all tools, and `true` for strict ones.
fn sent(definitions: &Value) -> Vec<(Schema, bool)> {
    let tools = definitions.as_array().unwrap().iter();
    let tools = tools.flat_map(|tool| match tool.get("functionDeclarations") {
        Some(list) => list.as_array().unwrap().iter().collect(),
        None => vec![tool.get("function").unwrap_or(tool)],
    });
    let keys = ["parameters", "parametersJsonSchema", "input_schema", "inputSchema"];
    let schema = |tool: &Value| {
        let schema = keys.iter().find_map(|key| tool.get(key)?.as_object().cloned())?;
        Some((schema, tool.get("strict") == Some(&Value::Bool(true))))
    };
    tools.filter_map(schema).collect()
}

fn root_is_an_object(schema: &Schema, name: &str) {
    assert_eq!(schema["type"], name, "{schema:?}");
    assert!(schema["properties"].is_object());
    for key in ["oneOf", "anyOf", "allOf", "enum", "not"] {
        assert!(!schema.contains_key(key), "{key} in {schema:?}");
    }
}

fn strict_openai(schema: &Schema) {
    const KEYS: &str = "type title description enum const anyOf $ref $defs properties required additionalProperties \
                        items pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems \
                        maxItems";
    for key in schema.keys() {
        assert!(KEYS.split_whitespace().any(|it| it == key), "{key} in {schema:?}");
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let required = schema["required"].as_array().unwrap();
        assert!(properties.keys().eq(required.iter().map(|it| it.as_str().unwrap())), "{schema:?}");
        assert_eq!(schema["additionalProperties"], false, "{schema:?}");
    }
    let says = ["type", "anyOf", "$ref"].iter().filter(|key| schema.contains_key(**key)).count();
    assert_eq!(says, 1, "{schema:?}");
    nothing_beside_a_reference(schema);
    lists_say_their_items(schema);
}

fn strict_anthropic(schema: &Schema) {
    const KEYS: &str = "type title description default enum const anyOf $ref $defs properties required \
                        additionalProperties items format minItems";
    for key in schema.keys() {
        assert!(KEYS.split_whitespace().any(|it| it == key), "{key} in {schema:?}");
    }
    if schema.get("type").is_some_and(|name| name == "object") {
        assert_eq!(schema["additionalProperties"], false, "{schema:?}");
    }
    assert!(schema.get("minItems").is_none_or(|least| least.as_u64().unwrap() < 2), "{schema:?}");
    if let Some(Value::Array(values)) = schema.get("enum") {
        assert!(!values.iter().any(|it| it.is_object() || it.is_array()), "{schema:?}");
    }
    let says = ["type", "anyOf", "$ref"].iter().filter(|key| schema.contains_key(**key)).count();
    assert_eq!(says, 1, "{schema:?}");
    nothing_beside_a_reference(schema);
}

fn open_api(schema: &Schema) {
    const KEYS: &str = "type format title description nullable enum items minItems maxItems minProperties maxProperties \
                        minLength maxLength pattern default minimum maximum anyOf properties required propertyOrdering";
    for key in schema.keys() {
        assert!(KEYS.split_whitespace().any(|it| it == key), "{key} in {schema:?}");
    }
    if schema.contains_key("anyOf") {
        assert_eq!(schema.len(), 1, "{schema:?}");
        return;
    }
    let name = schema["type"].as_str().unwrap();
    assert!(
        ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"].contains(&name),
        "{schema:?}"
    );
    assert_eq!(name == "ARRAY", schema.contains_key("items"), "{schema:?}");
    let has_some = schema.get("properties").is_some_and(|it| !it.as_object().unwrap().is_empty());
    assert_eq!(name == "OBJECT", has_some, "{schema:?}");
    if let Some(Value::Array(values)) = schema.get("enum") {
        assert!(values.iter().all(Value::is_string), "{schema:?}");
    }
}

fn nothing_beside_a_reference(schema: &Schema) {
    assert!(!schema.contains_key("$ref") || schema.len() == 1, "{schema:?}");
}

fn lists_say_their_items(schema: &Schema) {
    if schema.get("type").is_some_and(|name| name == "array") {
        assert!(schema.get("items").is_some_and(Value::is_object), "{schema:?}");
    }
}

/// Calls a function with every subschema of `schema`.
fn each(schema: &Value, see: &mut dyn FnMut(&Schema)) {
    let Value::Object(schema) = schema else { return };
    see(schema);
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("properties" | "$defs" | "patternProperties", Value::Object(all)) => {
                all.values().for_each(|schema| each(schema, see));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(all)) => {
                all.iter().for_each(|schema| each(schema, see));
            }
            ("items" | "additionalProperties", schema) => each(schema, see),
            _ => {}
        }
    }
}
