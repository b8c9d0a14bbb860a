//! Schemas that the value of a property selects.

use serde_json::{Value, json};
use tool_openapi::OpenApiToolSet;
use tool_runtime::Tool as _;

use crate::{built, document};

/// The schema of a body with this schema and these components, and a function that validates values by it.
fn body(schema: Value, schemas: Value) -> (Value, impl Fn(Value) -> bool) {
    let content = json!({ "application/json": { "schema": schema } });
    let paths = json!({ "/it": { "post": { "operationId": "it", "requestBody": { "content": content } } } });
    let document = document(paths, json!({ "components": { "schemas": schemas } }));
    let set = built(OpenApiToolSet::builder(document).base_url("http://h"));
    let schema = set.tools()[0].definition().input_schema().as_value().clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    (schema["properties"]["body"].clone(), move |value: Value| validator.is_valid(&json!({ "body": value })))
}

fn pets(others: Value) -> Value {
    let mut schema = json!({
        "oneOf": [{ "$ref": "#/components/schemas/Cat" }, { "$ref": "#/components/schemas/Dog" }],
        "discriminator": { "propertyName": "petType" },
    });
    schema["discriminator"].as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    schema
}

fn pet(kind: Value) -> Value {
    json!({ "type": "object", "properties": { "petType": kind }, "required": ["petType"] })
}

fn text() -> Value {
    json!({ "type": "string" })
}

#[test]
fn an_alternative_that_states_no_value_has_the_name_of_its_component() {
    let (_, accepts) = body(pets(json!({})), json!({ "Cat": pet(text()), "Dog": pet(text()) }));
    let accepted = ["Cat", "Dog", "Cow", "cat"].map(|it| accepts(json!({ "petType": it })));
    assert_eq!(accepted, [true, true, false, false]); // P10
    // Beside a mapping that names another alternative.
    let mapping = json!({ "mapping": { "hound": "#/components/schemas/Dog" } });
    let (_, accepts) = body(pets(mapping), json!({ "Cat": pet(text()), "Dog": pet(text()) }));
    let accepted = ["Cat", "hound", "Dog", "cat"].map(|it| accepts(json!({ "petType": it })));
    assert_eq!(accepted, [true, true, false, false]); // P10
    // The name of the alternative counts, also if its component is another reference.
    let schemas = json!({ "Cat": { "$ref": "#/components/schemas/Animal" }, "Dog": pet(text()), "Animal": pet(text()) });
    let (_, accepts) = body(pets(json!({})), schemas);
    assert!(accepts(json!({ "petType": "Cat" })) && !accepts(json!({ "petType": "Animal" })));
}

#[test]
fn an_alternative_that_states_its_value_has_no_other_one() {
    let own = |kind: &str| pet(json!({ "type": "string", "enum": [kind] }));
    let inherited = json!({ "allOf": [{ "$ref": "#/components/schemas/Base" }, { "type": "object" }] });
    let schemas = json!({ "Cat": own("meow"), "Dog": inherited, "Base": pet(json!({ "const": "woof" })) });
    let (schema, accepts) = body(pets(json!({})), schemas);
    let accepted = ["meow", "woof", "Cat", "Dog"].map(|it| accepts(json!({ "petType": it })));
    assert_eq!(accepted, [true, true, false, false]); // P10
    assert!(schema.get("oneOf").is_some() && schema.get("anyOf").is_none(), "{schema}");
    // One states its value, and the other one has its name.
    let (_, accepts) = body(pets(json!({})), json!({ "Cat": own("meow"), "Dog": pet(text()) }));
    let accepted = ["meow", "Dog", "Cat", "woof"].map(|it| accepts(json!({ "petType": it })));
    assert_eq!(accepted, [true, true, false, false]);
}

#[test]
fn alternatives_without_conditions_stay_exclusive() {
    let inline = json!([{ "properties": { "a": { "type": "string" } } }, { "properties": { "b": { "type": "string" } } }]);
    let cases = [
        json!({ "oneOf": inline, "discriminator": { "propertyName": "kind" } }),
        json!({ "oneOf": inline, "discriminator": { "propertyName": "kind", "mapping": { "x": "Nowhere" } } }),
        json!({ "oneOf": inline, "discriminator": {} }),
        json!({ "oneOf": inline, "discriminator": { "propertyName": 7 } }),
        json!({ "oneOf": inline, "discriminator": "kind" }),
    ];
    for case in cases {
        let (schema, accepts) = body(case.clone(), json!({}));
        assert!(schema.get("oneOf").is_some() && schema.get("anyOf").is_none(), "{case}: {schema}");
        assert!(!accepts(json!({})) && accepts(json!({ "a": 1 })), "{case}"); // P10
    }
}

#[test]
fn a_value_that_is_mapped_elsewhere_is_no_implicit_one() {
    let mapping = json!({ "mapping": { "Cat": "#/components/schemas/Dog" } });
    let schemas = json!({ "Cat": pet(text()), "Dog": pet(text()) });
    let (schema, _) = body(pets(mapping), schemas);
    assert_eq!(schema["anyOf"][1]["properties"]["petType"]["enum"], json!(["Cat"]), "{schema}");
    assert!(
        schema["anyOf"][0].get("properties").is_none_or(|it| it["petType"].get("enum").is_none()),
        "{schema}"
    );
}

#[test]
fn a_discriminator_that_leads_back_to_itself_is_read() {
    let mut cat = pets(json!({}));
    cat["allOf"] = json!([{ "$ref": "#/components/schemas/Cat" }]);
    let schemas = json!({ "Cat": cat, "Dog": { "oneOf": [{ "$ref": "#/components/schemas/Dog" }],
        "discriminator": { "propertyName": "petType" } } });
    let content = json!({ "application/json": { "schema": pets(json!({})) } });
    let paths = json!({ "/it": { "post": { "requestBody": { "content": content } } }, "/b": { "get": {} } });
    let set = built(
        OpenApiToolSet::builder(document(paths, json!({ "components": { "schemas": schemas } })))
            .base_url("http://h"),
    );
    assert_eq!(set.tools().len() + set.skipped().len(), 2);
}

#[test]
fn a_discriminator_without_the_name_of_a_property_selects_nothing() {
    for name in [json!(""), json!(null), json!(7)] {
        let schemas = json!({ "Cat": pet(text()), "Dog": pet(text()) });
        let (schema, accepts) = body(pets(json!({ "propertyName": name })), schemas);
        assert!(schema.get("oneOf").is_some() && schema.get("anyOf").is_none(), "{name}: {schema}");
        // Both alternatives accept it.
        assert!(!accepts(json!({ "petType": "Cat" })), "{name}: {schema}");
    }
}
