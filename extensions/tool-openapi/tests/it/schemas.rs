//! Schemas of documents as JSON Schema 2020-12.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tool_openapi::{Document, OpenApiToolSet};
use tool_runtime::Tool as _;

use crate::{built, corpus::assert_valid, file, registry};

/// A document of `version` with an operation whose body, and whose response, has the schema `schema`.
fn document(version: &str, schema: Value, schemas: Value) -> Document {
    Document::from_value(root(version, schema, schemas)).unwrap()
}

fn root(version: &str, schema: Value, schemas: Value) -> Value {
    let content = json!({ "application/json": { "schema": schema } });
    json!({
        "openapi": version, "info": { "title": "It", "version": "1" },
        "paths": { "/it": { "post": {
            "operationId": "it", "requestBody": { "required": true, "content": content },
            "responses": { "200": { "description": "It", "content": content } },
        }}},
        "components": { "schemas": schemas },
    })
}

fn imported(document: Document) -> OpenApiToolSet {
    built(OpenApiToolSet::builder(document).base_url("http://h"))
}

/// The schemas of the body and of the response, whose tool a registry accepts.
fn schemas(set: &OpenApiToolSet) -> (Value, Value) {
    assert_eq!(set.tools().len(), 1, "{:?}", set.skipped());
    registry(set);
    let definition = set.tools()[0].definition();
    let (input, output) =
        (definition.input_schema().as_value(), definition.output_schema().unwrap().as_value());
    assert_valid(input, "input");
    assert_valid(output, "output");
    let mut body = input["properties"]["body"].clone();
    if let Some(definitions) = input.get("$defs") {
        body["$defs"] = definitions.clone();
    }
    (body, output.clone())
}

/// The schema of the body of an operation with `schema`.
fn body(version: &str, schema: Value, components: Value) -> Value {
    schemas(&imported(document(version, schema, components))).0
}

#[test]
fn keywords_of_version_3_0_become_those_of_json_schema() {
    let check = |old: Value, new: Value| assert_eq!(body("3.0.3", old, json!({})), new);
    check(json!({ "type": "string", "nullable": true }), json!({ "type": ["string", "null"] }));
    check(
        json!({ "enum": ["a"], "type": "string", "nullable": true }),
        json!({ "enum": ["a", null], "type": ["string", "null"] }),
    );
    check(json!({ "minimum": 1, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 1 }));
    check(json!({ "maximum": 1, "exclusiveMaximum": false }), json!({ "maximum": 1 }));
    check(json!({ "type": "string", "example": "a" }), json!({ "type": "string", "examples": ["a"] }));
    check(
        json!({ "nullable": true, "allOf": [{ "type": "string" }] }),
        json!({ "anyOf": [{ "allOf": [{ "type": "string" }] }, { "type": "null" }] }),
    );
}

#[test]
fn an_inclusive_bound_of_version_3_0_is_no_mistake() {
    let schema = json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": false });
    let set = imported(document("3.0.3", schema, json!({})));
    assert_eq!(set.diagnostics(), []);
}

#[test]
fn values_that_a_keyword_cannot_have_are_left_out_with_a_diagnostic() {
    let cases = [
        (json!({ "pattern": "(" }), json!({})),
        (json!({ "pattern": "^(?<=a)b" }), json!({ "pattern": "^(?<=a)b" })),
        (json!({ "patternProperties": { "(": {}, "a": {} } }), json!({ "patternProperties": { "a": {} } })),
        (
            json!({ "minLength": -1, "maxLength": "9", "minItems": 2.0 }),
            json!({ "maxLength": 9, "minItems": 2 }),
        ),
        (json!({ "minimum": "0", "multipleOf": 0 }), json!({ "minimum": 0 })),
        (json!({ "required": true }), json!({})),
        (json!({ "required": ["a", 1, "a"] }), json!({ "required": ["a"] })),
        (json!({ "type": "text" }), json!({})),
        (
            json!({ "type": "string", "enum": ["a", 1, true] }),
            json!({ "type": "string", "enum": ["a", "1", "true"] }),
        ),
        (json!({ "type": "integer", "enum": ["1"] }), json!({ "type": "integer", "enum": [1] })),
        (json!({ "enum": [] }), json!({})),
        (json!({ "format": 7, "title": null, "uniqueItems": "yes" }), json!({})),
        (json!({ "allOf": [] , "anyOf": { "type": "string" } }), json!({ "anyOf": [{ "type": "string" }] })),
        (json!({ "properties": ["a"] }), json!({})),
        (json!({ "properties": { "a": null, "b": 7 } }), json!({ "properties": { "a": true, "b": true } })),
        (json!({ "items": [{ "type": "string" }] }), json!({ "prefixItems": [{ "type": "string" }] })),
    ];
    for (old, new) in cases {
        let set = imported(document("3.1.0", old.clone(), json!({})));
        assert_eq!(schemas(&set).0, new, "{old}");
        let corrected = ["(?<=", "[{\"type\"", "\"anyOf\":{"].iter().any(|it| old.to_string().contains(it));
        assert!(corrected || !set.diagnostics().is_empty(), "{old}");
        for diagnostic in set.diagnostics().iter().filter(|it| it.code == "malformed_keyword") {
            let pointer = &diagnostic.location.pointer;
            assert!(pointer.starts_with("/paths/~1it/post/"), "{pointer}");
        }
    }
}

#[test]
fn properties_of_the_other_direction_are_left_out() {
    let pet = json!({ "type": "object", "required": ["id", "secret", "name"], "properties": {
        "id": { "type": "integer", "readOnly": true }, "secret": { "$ref": "#/components/schemas/Secret" }, "name": {},
    }});
    let secret = json!({ "type": "string", "writeOnly": true });
    let reference = json!({ "$ref": "#/components/schemas/Pet" });
    let (body, output) =
        schemas(&imported(document("3.1.0", reference, json!({ "Pet": pet, "Secret": secret }))));
    let keys = |schema: &Value| schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        (keys(&body), &body["required"]),
        (vec!["secret".to_owned(), "name".to_owned()], &json!(["secret", "name"]))
    );
    assert_eq!(
        (keys(&output), &output["required"]),
        (vec!["id".to_owned(), "name".to_owned()], &json!(["id", "name"]))
    );
}

#[test]
fn a_property_of_the_other_direction_is_not_required_by_a_schema_beside_it() {
    let base = json!({ "type": "object", "properties": { "id": { "readOnly": true }, "name": {} } });
    let schema = json!({ "allOf": [{ "$ref": "#/components/schemas/Base" }, { "required": ["id", "name"] }], "required": ["id"] });
    let body = body("3.0.3", schema, json!({ "Base": base }));
    assert_eq!(body["allOf"][1], json!({ "required": ["name"] }));
    assert_eq!(body.get("required"), None);
}

#[test]
fn siblings_of_a_reference_are_ignored_before_version_3_1() {
    let schema = json!({ "$ref": "#/components/schemas/Name", "maxLength": 3, "description": "A name" });
    let name = json!({ "Name": { "type": "string" } });
    let old = body("3.0.3", schema.clone(), name.clone());
    assert_eq!(old, json!({ "description": "A name", "type": "string" }));
    let new = body("3.1.0", schema, name);
    assert_eq!(new, json!({ "maxLength": 3, "description": "A name", "allOf": [{ "type": "string" }] }));
}

#[test]
fn recursive_schemas_are_definitions() {
    let tree = json!({ "type": "object", "properties": { "left": { "$ref": "#/components/schemas/Tree" } } });
    let schema = body("3.1.0", json!({ "$ref": "#/components/schemas/Tree" }), json!({ "Tree": tree }));
    assert_eq!(schema["$ref"], "#/$defs/Tree"); // P06
    assert_eq!(schema["$defs"]["Tree"]["properties"]["left"]["$ref"], "#/$defs/Tree"); // P06
}

#[test]
fn references_lead_anywhere_in_the_document() {
    let schemas = json!({
        "a/b": { "type": "string" }, "c d": { "type": "integer" }, "e~f": { "type": "boolean" }, "100%": { "type": "null" },
        "NamedOperation": { "$anchor": "named", "type": "number" },
        "Identified": { "$id": "https://h.example/id", "$defs": { "in": { "type": "array" } }, "properties": { "it": { "$ref": "#/$defs/in" } } },
        "Chain": { "$ref": "#/components/schemas/a~1b" },
    });
    let cases = [
        ("#/components/schemas/a~1b", "string"),
        ("#/components/schemas/a%7E1b", "string"),
        ("#/components/schemas/c%20d", "integer"),
        ("#/components/schemas/c d", "integer"),
        ("#/components/schemas/e~0f", "boolean"),
        ("#/components/schemas/100%25", "null"),
        ("#/components/schemas/Chain", "string"),
        ("#named", "number"),
        ("https://h.example/id#/$defs/in", "array"),
        ("#/paths/~1it/post/responses/404/content/application~1json/schema", "object"),
    ];
    for (reference, kind) in cases {
        let mut root = root("3.1.0", json!({ "$ref": reference }), schemas.clone());
        root["paths"]["/it"]["post"]["responses"]["404"] =
            json!({ "content": { "application/json": { "schema": { "type": "object" } } } });
        let (body, _) = self::schemas(&imported(Document::from_value(root).unwrap()));
        assert_eq!(body["type"], kind, "{reference}"); // P06
    }
    let identified = body("3.1.0", json!({ "$ref": "#/components/schemas/Identified" }), schemas);
    assert_eq!(identified["properties"]["it"]["type"], "array");
}

#[test]
fn a_broken_reference_is_a_skip_that_names_it() {
    for reference in ["#/components/schemas/Nope", "#nope", "other.yaml#/Pet", "https://h.example/pet.json"] {
        let set = imported(document("3.1.0", json!({ "$ref": reference }), json!({})));
        assert_eq!(set.skipped()[0].pointer, "/paths/~1it/post/requestBody/content/application~1json/schema");
        let name = reference.split('#').find(|it| !it.is_empty()).unwrap();
        assert!(set.skipped()[0].reason.contains(name), "{:?}", set.skipped()); // P06
    }
}

#[test]
fn alternatives_with_a_discriminator_have_its_values() {
    let schema = json!({
        "oneOf": [{ "$ref": "#/components/schemas/Cat" }, { "$ref": "#/components/schemas/Dog" }],
        "discriminator": { "propertyName": "kind", "mapping": { "cat": "#/components/schemas/Cat", "dog": "Dog" } },
    });
    let pet = json!({ "type": "object", "properties": { "kind": { "type": "string" } } });
    let set = imported(document("3.0.3", schema, json!({ "Cat": pet, "Dog": pet })));
    let tools = registry(&set);
    let check = |body: Value| {
        let schema = set.tools()[0].definition().input_schema().as_value();
        jsonschema::validator_for(schema).unwrap().is_valid(&json!({ "body": body }))
    };
    assert!(
        check(json!({ "kind": "cat" }))
            && check(json!({ "kind": "dog" }))
            && !check(json!({ "kind": "cow" }))
    );
    drop(tools);
}

#[test]
fn a_schema_that_no_validator_compiles_costs_its_tool_only() {
    let deep = (0..100).fold(json!({ "type": "string" }), |it, _| json!({ "not": it }));
    for schema in [json!({ "$ref": "#/components/schemas/Self" }), deep] {
        let itself = json!({ "title": "It", "$ref": "#/components/schemas/Self" });
        let mut root = root("3.1.0", schema, json!({ "Self": itself }));
        root["paths"]["/other"] = json!({ "get": { "operationId": "other" } });
        let set = imported(Document::from_value(root).unwrap());
        assert_eq!((set.tools().len(), set.skipped().len()), (1, 1), "{:?}", set.skipped());
        assert!(set.skipped()[0].reason.contains("cannot be validated"), "{:?}", set.skipped());
        registry(&set);
    }
}

/// Any JSON, of the words of OpenAPI now and then.
fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "get",
        "parameters",
        "schema",
        "$ref",
        "in",
        "name",
        "path",
        "content",
        "application/json",
        "properties",
        "type",
        "required",
        "items",
        "allOf",
        "requestBody",
        "responses",
        "200",
        "#/paths",
        "#/components/schemas/A",
        "object",
        "enum",
        "nullable",
        "servers",
        "url",
        "/a/{b}",
        "#",
        "#/",
        "security",
    ]);
    let text = prop_oneof![words.clone().prop_map(str::to_owned), ".{0,6}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..5)
                .prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

/// Replaces, or removes, the `at`th value of `root`.
fn mutate(root: &mut Value, at: &mut usize, with: &Option<Value>) -> bool {
    let children: Vec<String> = match root {
        Value::Object(members) => members.keys().cloned().collect(),
        Value::Array(items) => (0..items.len()).map(|it| it.to_string()).collect(),
        _ => Vec::new(),
    };
    for key in children {
        if *at == 0 {
            match (root, with) {
                (Value::Object(members), Some(value)) => drop(members.insert(key, value.clone())),
                (Value::Object(members), None) => drop(members.shift_remove(&key)),
                (Value::Array(items), Some(value)) => items[key.parse::<usize>().unwrap()] = value.clone(),
                (Value::Array(items), None) => drop(items.remove(key.parse().unwrap())),
                _ => {}
            }
            return true;
        }
        *at -= 1;
        let child = match root {
            Value::Object(members) => members.get_mut(&key),
            Value::Array(items) => items.get_mut(key.parse::<usize>().unwrap()),
            _ => None,
        };
        if child.is_some_and(|it| mutate(it, at, with)) {
            return true;
        }
    }
    false
}

/// Imports without a panic: tools with valid schemas, or skips.
fn check_any(root: Value) {
    let Ok(document) = Document::from_value(root) else { return };
    let Ok(set) = OpenApiToolSet::builder(document).base_url("http://h").build() else { return };
    for tool in set.tools() {
        assert_valid(tool.definition().input_schema().as_value(), "input");
        if let Some(output) = tool.definition().output_schema() {
            assert_valid(output.as_value(), "output");
        }
    }
    registry(&set);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn any_json_as_a_document_gives_tools_or_skips(paths in any_json(), schemas in any_json(), old in any::<bool>()) {
        let version = if old { json!({ "swagger": "2.0" }) } else { json!({ "openapi": "3.1.0" }) };
        let mut root = Map::from_iter(version.as_object().unwrap().clone());
        root.insert("paths".to_owned(), json!({ "/a/{b}": paths.clone(), "/c": { "post": paths } }));
        root.insert("components".to_owned(), json!({ "schemas": schemas.clone() }));
        root.insert("definitions".to_owned(), schemas);
        check_any(Value::Object(root));
    }

    #[test]
    fn any_change_of_a_real_document_gives_tools_or_skips(
        name in prop::sample::select(vec!["petstore-3.0.json", "petstore-2.0.json"]),
        changes in prop::collection::vec((0..2_000_usize, prop::option::of(any_json())), 1..6),
    ) {
        let mut root: Value = serde_json::from_slice(&std::fs::read(file(name)).unwrap()).unwrap();
        for (mut at, with) in changes {
            mutate(&mut root, &mut at, &with);
        }
        check_any(root);
    }
}
