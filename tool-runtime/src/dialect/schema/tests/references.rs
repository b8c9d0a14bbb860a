//! References of schemas that are moved or inlined.

use serde_json::{Value, json};

use crate::dialect::schema::references::{
    circular_reference, is_recursive, move_references, moved_reference, reference_target,
};

// A22
#[test]
fn a_reference_has_the_target_at_its_decoded_pointer() {
    let root = json!({ "$defs": { "a b": 1, "c/d": 2, "%": 3 }, "x": [4] });
    for (reference, target) in [
        ("#", Some(root.clone())),
        ("#/$defs/a%20b", Some(json!(1))),
        ("#/$defs/a b", Some(json!(1))),
        ("#/$defs/c~1d", Some(json!(2))),
        ("#/$defs/%25", Some(json!(3))),
        ("#/x/0", Some(json!(4))),
        ("#/x/1", None),
        ("#x", None),
        ("/x/0", None),
        ("other.json#/x", None),
    ] {
        assert_eq!(reference_target(&root, reference).cloned(), target, "{reference}");
    }
}

// A22
#[test]
fn references_within_a_moved_schema_follow_it_and_other_texts_stay() {
    for (reference, moved) in [
        ("#", "#/properties/p"),
        ("#/items", "#/properties/p/items"),
        ("#/$defs/a", "#/$defs/a"),
        ("#/$defsx", "#/properties/p/$defsx"),
        ("other.json#/a", "other.json#/a"),
    ] {
        assert_eq!(moved_reference(reference, "/properties/p"), moved);
    }
    let with = |reference: &str| {
        json!({
            "description": "#/items", "const": "#", "enum": ["#/items"], "$ref": reference,
            "properties": { "$ref": { "$ref": reference }, "q": { "items": { "$ref": reference } } },
            "anyOf": [{ "$ref": reference }, [{ "$ref": reference }]],
        })
    };
    let mut schema = with("#/items");
    move_references(&mut schema, "/a");
    assert_eq!(schema, with("#/a/items"));
}

// A22
#[test]
fn a_reference_that_leads_back_to_itself_is_found_wherever_it_is() {
    let schema = |a: Value, b: Value| json!({ "properties": { "p": { "$ref": "#/$defs/a" } }, "$defs": { "a": a, "b": b } });
    let to = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    for (a, b, is_circular) in [
        (json!({}), json!({}), false),
        (to("b"), json!({}), false),
        (json!({ "anyOf": [to("b"), to("b")] }), json!({ "type": "string" }), false),
        (to("missing"), json!({}), false),
        (to("a"), json!({}), true),
        (to("b"), to("a"), true),
        (
            json!({ "items": { "anyOf": [to("b"), to("b")] } }),
            json!({ "properties": { "q": to("b") } }),
            true,
        ),
        (json!({ "items": to("b") }), json!({ "not": to("a") }), true),
    ] {
        let root = schema(a, b);
        assert_eq!(circular_reference(&root).is_some(), is_circular, "{root}");
        assert_eq!(is_recursive(&root, &root), is_circular, "{root}");
        assert_eq!(is_recursive(&root, &root["properties"]["p"]), is_circular, "{root}");
    }
    // Another part of the schema is recursive.
    let root = schema(json!({}), to("b"));
    assert!(!is_recursive(&root, &root["properties"]) && is_recursive(&root, &root["$defs"]));
    assert_eq!(circular_reference(&root), Some("#/$defs/b"));
}
