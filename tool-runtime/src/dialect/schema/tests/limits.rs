//! The limits of a provider, exactly at each of them and one above.

use serde_json::{Value, json};

use super::{
    super::{Limits, Rules, convert_schema},
    ALL,
};

const LIMITED: Rules = Rules {
    limits: Some(&Limits { properties: 4, depth: 2, characters: 12, enum_values: 4, large_enum: (2, 5) }),
    ..ALL
};

/// Returns the reason why `schema` is refused.
fn refusal(schema: &Value) -> Option<String> {
    convert_schema(schema, &LIMITED).err().map(|error| {
        assert_eq!(error.pointer, "");
        error.message
    })
}

/// An object with these properties.
fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

// A22
#[test]
fn properties_are_counted_at_every_level() {
    let four = object(json!({ "a": object(json!({ "b": true, "c": true })), "d": true }));
    let five = object(json!({ "a": object(json!({ "b": true, "c": true })), "d": true, "e": true }));
    assert_eq!(refusal(&four), None);
    let message = "there are 5 properties; at most 4 are allowed";
    assert_eq!(refusal(&five).as_deref(), Some(message));
    let in_list =
        object(json!({ "a": { "items": object(json!({ "b": true, "c": true, "d": true, "e": true })) } }));
    assert_eq!(refusal(&in_list).as_deref(), Some(message));
    let in_choice = object(
        json!({ "a": { "anyOf": [object(json!({ "b": true, "c": true })), object(json!({ "d": true, "e": true }))] } }),
    );
    assert_eq!(refusal(&in_choice).as_deref(), Some(message));
}

// A22
#[test]
fn levels_of_objects_are_counted_from_the_root_or_a_definition() {
    let two = object(json!({ "a": object(json!({ "b": true })) }));
    let three = object(json!({ "a": object(json!({ "b": object(json!({ "c": true })) })) }));
    let message = "there are 3 levels of objects; at most 2 are allowed";
    assert_eq!(refusal(&two), None);
    assert_eq!(refusal(&three).as_deref(), Some(message));
    let in_list = object(
        json!({ "a": { "items": { "anyOf": [object(json!({ "b": { "items": object(json!({ "c": true })) } }))] } } }),
    );
    assert_eq!(refusal(&in_list).as_deref(), Some(message));
    let definition = |inner: Value| json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d" } }, "$defs": { "d": inner } });
    assert_eq!(refusal(&definition(object(json!({ "b": object(json!({ "c": true })) })))), None);
    let deep = definition(object(json!({ "b": object(json!({ "c": object(json!({})) })) })));
    assert_eq!(refusal(&deep).as_deref(), Some(message));
}

// A22
#[test]
fn characters_of_names_definitions_values_and_constants_are_counted() {
    let message =
        |count: usize| format!("there are {count} characters of names and values; at most 12 are allowed");
    for (schema, count) in [
        (object(json!({ "é23456789012": true })), 12),
        (object(json!({ "é234567890123": true })), 13),
        (object(json!({ "p": { "const": "12345678901" } })), 12),
        (object(json!({ "p": { "const": "123456789012" } })), 13),
        (object(json!({ "p": { "const": 123_456_789_012_345_u64 } })), 1),
        (object(json!({ "p": { "enum": ["12345", "678901"] } })), 12),
        (object(json!({ "p": { "enum": ["123456", "7890123"] } })), 14),
        (json!({ "type": "object", "$defs": { "123456": object(json!({ "123456": true })) } }), 12),
        (json!({ "type": "object", "$defs": { "1234567": object(json!({ "123456": true })) } }), 13),
    ] {
        assert_eq!(refusal(&schema), (count > 12).then(|| message(count)), "{schema}");
    }
}

// A22
#[test]
fn values_of_enums_are_counted_together_and_a_large_enum_is_limited() {
    let of = |one: Value, other: Value| object(json!({ "a": { "enum": one }, "b": { "enum": other } }));
    assert_eq!(refusal(&of(json!([1, 2]), json!([3, 4]))), None);
    let many = refusal(&of(json!([1, 2]), json!([3, 4, 5])));
    assert_eq!(many.as_deref(), Some("there are 5 values of enums; at most 4 are allowed"));
    let large = "an enum of more than 2 values has more than 5 characters";
    for (values, is_large) in [
        (json!(["12", "34", "56"]), true),
        (json!(["12", "34", "5"]), false),
        (json!(["123", "456"]), false),
        (json!([123, 456, 789]), false),
    ] {
        let found = refusal(&object(json!({ "a": { "enum": values } })));
        assert_eq!(found.as_deref(), is_large.then_some(large), "{values}");
    }
    // Each enum by itself.
    assert_eq!(refusal(&of(json!(["123", "4"]), json!(["567", "8"]))), None);
}

// A22
#[test]
fn rules_without_limits_refuse_no_size() {
    let wide: Value = (0..100)
        .map(|at| (format!("p{at}"), json!({ "enum": [1, 2, 3] })))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert!(convert_schema(&object(wide), &ALL).is_ok());
}
