//! Names with a special meaning in JSON, JSON Schema or this crate, used as plain names.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool_schema::{InputSchema, OutputSchema, Plan};

fn schema<T: JsonSchema>() -> Value {
    InputSchema::of::<T>().unwrap().as_value().clone()
}

/// Returns the number of references in `schema`; compiling the schema resolves each.
fn references(schema: &Value) -> usize {
    Plan::compile(schema).unwrap();
    schema.to_string().matches("\"$ref\":\"#/$defs/").count()
}

// B19: a name in a reference is escaped twice, for the pointer and for the URI.
#[test]
fn a_recursive_type_may_have_any_name() {
    #[derive(Deserialize, JsonSchema)]
    struct Größe {
        teile: Vec<Größe>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[schemars(rename = "a/b~c% d")]
    struct Odd {
        parts: Vec<Odd>,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Holder {
        one: Größe,
        other: Option<Odd>,
    }
    for (schema, names) in [
        (schema::<Größe>(), vec!["Größe"]),
        (schema::<Odd>(), vec!["a/b~c% d"]),
        (schema::<Holder>(), vec!["Größe", "a/b~c% d"]),
    ] {
        let defined: Vec<_> = schema["$defs"].as_object().unwrap().keys().collect();
        assert_eq!(defined, names);
        assert_eq!(schema["type"], "object");
        assert!(references(&schema) >= names.len(), "{schema}");
    }
    let schema = OutputSchema::of::<Odd>();
    assert!(references(schema.as_value()) > 0);
}

// B19: a root that is only a reference is replaced by its target, independent of the target's name.
#[test]
fn a_root_behind_a_reference_is_resolved_by_its_name() {
    struct Behind;
    impl JsonSchema for Behind {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Behind".into()
        }
        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "$ref": "#/$defs/x%20~1y",
                "$defs": { "x /y": { "type": "object", "properties": { "n": { "type": "null" } } } },
            })
        }
    }
    let expected =
        json!({ "type": "object", "properties": { "n": { "type": "null" } }, "additionalProperties": false });
    assert_eq!(schema::<Behind>(), expected);
}

// B19
#[test]
fn an_example_is_found_under_any_name() {
    let schema = InputSchema::new(json!({
        "type": "object",
        "properties": { "n": { "$ref": "#/$defs/a%20~1b" } },
        "required": ["n"],
        "$defs": { "a /b": { "const": 7 } },
    }));
    assert_eq!(schema.unwrap().example(), Some(&json!({ "n": 7 })));
}

/// Fields with the names of keywords.
#[derive(Deserialize, JsonSchema)]
struct Called {
    #[serde(rename = "x-tool-aliases")]
    aliases: Vec<String>,
    properties: Inner,
    #[serde(rename = "$ref")]
    reference: String,
    #[serde(rename = "$defs")]
    definitions: Option<String>,
    #[serde(rename = "$schema")]
    dialect: u8,
    #[serde(rename = "oneOf")]
    one_of: Vec<Inner>,
    #[serde(rename = "anyOf")]
    any_of: String,
    #[serde(rename = "allOf")]
    all_of: String,
    format: String,
    #[serde(rename = "enum")]
    choice: Choice,
    #[serde(rename = "const")]
    constant: Option<u8>,
    required: bool,
    #[serde(rename = "type")]
    kind: Option<String>,
    minimum: i8,
    default: Option<u8>,
    items: String,
    #[serde(rename = "additionalProperties")]
    additional: bool,
    #[serde(rename = "unevaluatedProperties")]
    unevaluated: bool,
    #[serde(rename = "patternProperties")]
    pattern: bool,
    not: String,
}

#[derive(Deserialize, JsonSchema)]
struct Inner {
    #[serde(rename = "x-tool-aliases")]
    aliases: u8,
    required: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
enum Choice {
    /// With docs.
    #[serde(rename = "$ref")]
    Reference,
    #[serde(rename = "x-tool-aliases")]
    Aliases,
}

const CALLED: [&str; 20] = [
    "x-tool-aliases",
    "properties",
    "$ref",
    "$defs",
    "$schema",
    "oneOf",
    "anyOf",
    "allOf",
    "format",
    "enum",
    "const",
    "required",
    "type",
    "minimum",
    "default",
    "items",
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "not",
];

// B14, B19
#[test]
fn a_property_may_have_the_name_of_any_keyword() {
    let schema = schema::<Called>();
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, CALLED);
    let optional = ["$defs", "const", "type", "default"];
    let required: Vec<_> = CALLED.iter().filter(|it| !optional.contains(it)).collect();
    assert_eq!(schema["required"], json!(required));
    assert_eq!(schema["additionalProperties"], false);
    for inner in [&schema["properties"]["properties"], &schema["properties"]["oneOf"]["items"]] {
        let byte = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
        let properties = json!({ "x-tool-aliases": byte, "required": byte });
        assert_eq!(inner["properties"], properties);
        assert_eq!(inner["required"], json!(["x-tool-aliases"]));
    }
    let optional = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    assert_eq!(schema["properties"]["const"], optional);
    assert_eq!(schema["properties"]["enum"]["enum"], json!(["x-tool-aliases", "$ref"]));
}

// B14: the list of aliases is removed, but no data in the schema.
#[test]
fn a_default_may_have_any_key() {
    #[derive(Deserialize, JsonSchema)]
    struct Data {
        #[serde(default = "data")]
        #[schemars(extend("x-tool-aliases" = ["info"]))]
        data: Value,
    }
    fn data() -> Value {
        json!({ "x-tool-aliases": 1, "$ref": "#/$defs/none", "properties": { "format": "uint8" } })
    }
    let schema = InputSchema::of::<Data>().unwrap();
    assert_eq!(schema.as_value()["properties"]["data"], json!({ "default": data() }));
}
