//! Schemas as values, with definitions that others share, and made on first use.

use std::sync::Arc;

use serde_json::{Value, json};
use tool_schema::{Correction, InputSchema, OutputSchema, SchemaError};

fn shared(root: Value, definitions: &[(&str, Value)]) -> Result<InputSchema, SchemaError> {
    let definitions = definitions.iter().map(|(name, it)| (Arc::from(*name), Arc::new(it.clone())));
    InputSchema::with_shared(root, definitions)
}

#[test]
fn the_root_of_arguments_is_an_object() {
    for schema in [json!({}), json!({ "type": "object" })] {
        assert_eq!(*InputSchema::new(schema.clone()).unwrap().as_value(), schema);
        assert_eq!(*shared(schema.clone(), &[]).unwrap().as_value(), schema);
    }
    for (schema, expected) in [
        (
            json!({ "type": "string" }),
            "the arguments of a tool are an object; this schema says `\"type\": \"string\"`. Put the value into a struct",
        ),
        (
            json!({ "type": ["object"] }),
            "the arguments of a tool are an object; this schema says `\"type\": [\"object\"]`. Put the value into a struct",
        ),
        (json!(true), "the schema of arguments must be an object, not true"),
        (json!([]), "the schema of arguments must be an object, not []"),
    ] {
        assert_eq!(InputSchema::new(schema.clone()).unwrap_err().to_string(), expected);
        assert_eq!(shared(schema, &[]).unwrap_err().to_string(), expected);
    }
    assert_eq!(
        shared(json!({ "$defs": {} }), &[]).unwrap_err().to_string(),
        "the schema has `$defs` of its own; add them to the shared definitions"
    );
}

#[test]
fn shared_definitions_are_part_of_the_schema() {
    let root = json!({ "type": "object", "properties": { "pet": { "$ref": "#/$defs/Pet" } } });
    let (pet, food) = (json!({ "type": "object", "required": ["name"] }), json!({ "type": "string" }));
    let mut whole = root.clone();
    whole["$defs"] = json!({ "Pet": pet, "Food": food });
    let definitions = [("Pet", pet), ("Food", food)];
    let schema = shared(root.clone(), &definitions).unwrap();
    assert_eq!(*schema.to_value(), whole);
    assert_eq!(serde_json::to_value(&schema).unwrap(), whole);
    assert_eq!(format!("{schema:?}"), format!("{:?}", InputSchema::new(whole.clone()).unwrap()));
    assert_eq!(schema.keyword("type"), Some(&json!("object")));
    assert_eq!(schema.keyword("$defs"), None);
    let (keywords, parts) = schema.root_and_shared();
    assert_eq!(keywords, root.as_object());
    let parts: Vec<_> = parts.iter().map(|(name, it)| (&**name, Value::clone(it))).collect();
    assert_eq!(parts, definitions);
    assert_eq!(*schema.as_value(), whole);
    assert_eq!(*schema.to_value(), whole);
    let plain = InputSchema::new(whole.clone()).unwrap();
    assert_eq!(plain.root_and_shared().0, whole.as_object());
    assert_eq!(plain.root_and_shared().1.len(), 0);
    assert_eq!(plain.keyword("$defs"), whole.get("$defs"));
    assert_eq!((&schema, &plain), (&plain, &schema));
    assert_eq!(schema, shared(root.clone(), &definitions).unwrap());
    assert!(
        schema != shared(root.clone(), &definitions[..1]).unwrap()
            && schema != InputSchema::new(root).unwrap()
    );
    assert!(schema.check().is_ok());
    assert!(schema.plan().unwrap().admits(&json!({ "pet": { "name": 1 } })));
    assert!(!schema.plan().unwrap().admits(&json!({ "pet": {} })));
    assert_eq!(schema.example(), Some(&json!({})));
}

#[test]
fn the_mistakes_of_a_schema_are_found_by_each_check() {
    let expected = ["at /properties/a: `minimum` must be a number, not \"x\""];
    let part = json!({ "minimum": "x" });
    let wrong = InputSchema::new(json!({ "properties": { "a": part } })).unwrap();
    let of_root = shared(json!({ "properties": { "a": part } }), &[("A", json!({}))]).unwrap();
    for schema in [&wrong, &of_root] {
        for _ in 0..2 {
            let problems = schema.check().unwrap_err();
            assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        }
        let problems = schema.plan().unwrap_err();
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        assert_eq!(schema.example(), None);
    }
    let of_definition = shared(json!({}), &[("A", part)]).unwrap();
    assert_eq!(
        of_definition.check().unwrap_err()[0].to_string(),
        "at /$defs/A: `minimum` must be a number, not \"x\""
    );
    let sound = shared(json!({}), &[("A", json!({ "minimum": 1 }))]).unwrap();
    assert!(sound.check().is_ok() && sound.check().is_ok() && sound.plan().is_ok() && sound.check().is_ok());
}

#[test]
fn a_schema_of_results_is_an_object_or_a_boolean() {
    for schema in [json!({ "type": "string" }), json!(true), json!(false)] {
        let output = OutputSchema::new(schema.clone()).unwrap();
        assert_eq!((output.as_value(), output.is_promise()), (&schema, true));
        assert_eq!(serde_json::to_value(&output).unwrap(), schema);
    }
    for (schema, shown) in [(json!("x"), "\"x\""), (json!(null), "null"), (json!([1]), "[1]")] {
        let expected = format!("a schema is an object or a boolean, not {shown}");
        assert_eq!(OutputSchema::new(schema).unwrap_err().to_string(), expected);
    }
    let schema = json!({ "type": "string" });
    let promise = OutputSchema::new(schema.clone()).unwrap();
    let derived = OutputSchema::derived(schema.clone());
    let made = schema.clone();
    let deferred = OutputSchema::deferred(move || made);
    assert!(!derived.is_promise() && !deferred.is_promise());
    assert_eq!(serde_json::to_value(&deferred).unwrap(), schema);
    assert!(derived == deferred && derived != promise && promise == promise.clone());
    assert!(derived != OutputSchema::derived(json!({ "type": "integer" })));
}

#[test]
fn a_stored_correction_of_a_later_version_is_refused() {
    let stored = |version: Value| {
        let mut stored = json!({ "pointer": "/a", "from": "\"3\"", "to": "3", "rule": "to_number" });
        if version != json!("absent") {
            stored["v"] = version;
        }
        serde_json::from_value::<Correction>(stored)
    };
    for version in [json!("absent"), json!(null), json!(1)] {
        assert_eq!(stored(version).unwrap().to_string(), "/a: read \"3\" as 3");
    }
    for version in [0, 2, 17] {
        let expected = format!(
            "the format version {version} is not known; read it with the version of the program that stored it"
        );
        assert_eq!(stored(json!(version)).unwrap_err().to_string(), expected);
    }
}
