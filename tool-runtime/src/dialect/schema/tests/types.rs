//! Types: declared, inferred, nullable, and in capitals.

use serde_json::{Value, json};

use super::{
    super::{
        Objects, Rules,
        types::{has_type, make_nullable, move_keywords_into_branches},
    },
    ALL, check, converted, refused,
};

const CLOSED: Rules = Rules { objects: Objects::Closed, ..ALL };
const OPEN_API: Rules = Rules { objects: Objects::Listed, open_api: true, ..ALL };

// A22
#[test]
fn a_type_is_declared_alone_or_among_others() {
    for (schema, is_string) in [
        (json!({ "type": "string" }), true),
        (json!({ "type": "STRING" }), true),
        (json!({ "type": ["null", "string"] }), true),
        (json!({ "type": ["null"] }), false),
        (json!({ "type": "null" }), false),
        (json!({ "type": 1 }), false),
        (json!({}), false),
    ] {
        assert_eq!(has_type(schema.as_object().unwrap(), "string"), is_string, "{schema}");
    }
}

// A22
#[test]
fn a_type_is_inferred_where_the_provider_requires_one() {
    for (values, types) in [
        (json!(["a", "b"]), json!("string")),
        (json!([1, -2]), json!("integer")),
        (json!([1.5]), json!("number")),
        (json!([true]), json!("boolean")),
        (json!([null]), json!("null")),
        (json!(["a", 1, "b", null]), json!(["string", "integer", "null"])),
    ] {
        check(&CLOSED, json!({ "enum": values }), json!({ "enum": values, "type": types }));
        // A provider of all objects requires none.
        check(&ALL, json!({ "enum": values }), json!({ "enum": values }));
    }
    check(&CLOSED, json!({ "const": "a" }), json!({ "const": "a", "type": "string" }));
    check(&CLOSED, json!({ "type": "string", "enum": [1] }), json!({ "type": "string", "enum": [1] }));
    let choice = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
    check(&CLOSED, choice.clone(), choice);
    let any = "/properties/p: a value of any type is allowed, but the provider requires a type";
    for property in [
        json!({}),
        json!(true),
        json!({ "description": "D" }),
        json!({ "enum": [[1]] }),
        json!({ "const": {} }),
    ] {
        refused(&CLOSED, property.clone(), any);
        check(&ALL, property.clone(), if property == true { json!({}) } else { property });
    }
    let assumed = |name: &str| vec![format!("/properties/p: no type is declared; it is sent as `{name}`")];
    let list = json!({ "items": { "type": "string" } });
    let sent = json!({ "items": { "type": "string" }, "type": "array" });
    assert_eq!(converted(&CLOSED, list), Ok((sent, assumed("array"))));
    let object = json!({ "properties": { "a": { "type": "string" } }, "additionalProperties": false });
    let mut sent = object.clone();
    sent["type"] = "object".into();
    assert_eq!(converted(&CLOSED, object.clone()), Ok((sent, assumed("object"))));
    check(&ALL, object.clone(), object);
}

// A22
#[test]
fn open_api_types_are_in_capitals_and_null_is_a_keyword() {
    for (types, expected) in [
        (json!("string"), json!({ "type": "STRING" })),
        (json!(["integer"]), json!({ "type": "INTEGER" })),
        (json!("null"), json!({ "type": "NULL" })),
        (json!(["null"]), json!({ "type": "NULL" })),
        (json!(["string", "null"]), json!({ "type": "STRING", "nullable": true })),
        (json!(["string", "integer"]), json!({ "anyOf": [{ "type": "STRING" }, { "type": "INTEGER" }] })),
        (
            json!(["null", "string", "integer"]),
            json!({ "anyOf": [{ "type": "STRING" }, { "type": "INTEGER" }, { "type": "NULL" }] }),
        ),
    ] {
        check(&OPEN_API, json!({ "type": types }), expected);
        check(&CLOSED, json!({ "type": types }), json!({ "type": types }));
    }
    let others = "/properties/p: a value of several types has other keywords, too";
    for types in [json!(["string", "array"]), json!(["object", "string"])] {
        let property = json!({ "type": types, "items": { "type": "string" }, "properties": { "a": { "type": "string" } } });
        refused(&OPEN_API, property, others);
    }
    let choice = json!({ "type": ["string", "integer"], "anyOf": [{ "type": "string" }] });
    refused(&OPEN_API, choice, others);
}

// A22
#[test]
fn keywords_beside_a_choice_move_into_its_branches() {
    let choose = |schema: Value| {
        let Value::Object(mut schema) = schema else { panic!("an object") };
        move_keywords_into_branches(&mut schema);
        Value::Object(schema)
    };
    let plain = json!({ "type": "STRING", "description": "D", "nullable": true });
    assert_eq!(choose(plain.clone()), plain);
    let odd = json!({ "anyOf": true, "description": "D" });
    assert_eq!(choose(odd), json!({ "description": "D" }));
    let schema = json!({
        "anyOf": [{ "type": "STRING", "description": "A text." }, { "type": "INTEGER", "title": "Own", "minimum": 5 }, true],
        "type": "OBJECT",
        "title": "Both",
        "description": "Either",
        "minimum": 1,
        "nullable": true,
    });
    let expected = json!({ "anyOf": [
        { "type": "STRING", "description": "Either. A text.", "title": "Both", "minimum": 1 },
        { "type": "INTEGER", "title": "Own", "minimum": 5, "description": "Either. Both" },
        true,
        { "type": "NULL", "description": "Either", "title": "Both", "minimum": 1 },
    ] });
    assert_eq!(choose(schema), expected);
    let own = json!({ "anyOf": [{ "type": "STRING", "description": "A text.", "title": "Same" }], "title": "Same" });
    assert_eq!(
        choose(own),
        json!({ "anyOf": [{ "type": "STRING", "title": "Same", "description": "A text." }] })
    );
}

// B21
#[test]
fn a_schema_becomes_nullable_by_its_type_its_values_and_its_branches() {
    for (schema, expected, was_nullable) in [
        (json!({ "type": "string" }), json!({ "type": ["string", "null"] }), false),
        (json!({ "type": ["string", "integer"] }), json!({ "type": ["string", "integer", "null"] }), false),
        (json!({ "type": ["string", "null"] }), json!({ "type": ["string", "null"] }), true),
        (json!({ "type": "null" }), json!({ "type": "null" }), true),
        (json!({ "enum": ["a"] }), json!({ "enum": ["a", null] }), false),
        (
            json!({ "type": "string", "enum": ["a"] }),
            json!({ "type": ["string", "null"], "enum": ["a", null] }),
            false,
        ),
        (
            json!({ "type": "string", "const": "a" }),
            json!({ "type": ["string", "null"], "enum": ["a", null] }),
            false,
        ),
        (
            json!({ "anyOf": [{ "type": "string" }] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
            false,
        ),
        (
            json!({ "anyOf": [{ "type": "null" }, true] }),
            json!({ "anyOf": [{ "type": "null" }, true] }),
            true,
        ),
        (
            json!({ "anyOf": [{ "anyOf": [{ "type": "null" }] }] }),
            json!({ "anyOf": [{ "anyOf": [{ "type": "null" }] }] }),
            true,
        ),
        (
            json!({ "$ref": "#/$defs/a", "title": "T" }),
            json!({ "anyOf": [{ "$ref": "#/$defs/a" }, { "type": "null" }], "title": "T" }),
            false,
        ),
        (json!({}), json!({}), false),
        (json!(true), json!(true), false),
    ] {
        let mut nullable = schema.clone();
        assert_eq!((make_nullable(&mut nullable), &nullable), (was_nullable, &expected), "{schema}");
    }
}

#[test]
fn a_boolean_schema_is_written_as_an_object_where_items_need_a_schema() {
    let with_items = Rules { items: true, ..ALL };
    check(&with_items, json!(false), json!({ "not": {} }));
    refused(&with_items, json!(5), "/properties/p: no value fits");
    for value in [json!(false), json!(5)] {
        check(&ALL, value.clone(), value);
    }
    let few = Rules { keywords: Some(&["type", "properties", "required", "additionalProperties"]), ..ALL };
    refused(&few, json!(false), "/properties/p: no value fits");
}
