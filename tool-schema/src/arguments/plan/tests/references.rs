//! References to other parts of the schema, and unresolved references.

use serde_json::json;

use super::check;

#[test]
fn references_are_followed() {
    let schema = json!({
        "$defs": {"a/b": {"type": "integer"}, "c%d": {"type": "string"}, "é~": {"type": "null"}},
        "properties": {
            "x": {"$ref": "#/$defs/a~1b"},
            "y": {"$ref": "#/$defs/c%25d"},
            "z": {"$ref": "#/$defs/%C3%A9~0"},
            "list": {"prefixItems": [{"minimum": 3}]},
            "w": {"$ref": "#/properties/list/prefixItems/0"}
        }
    });
    check(
        schema,
        [json!({"x": 1, "y": "a", "z": null, "w": 3})],
        [json!({"x": "a"}), json!({"y": 1}), json!({"z": 1}), json!({"w": 2})],
    );
}

#[test]
fn keywords_beside_a_reference_apply() {
    let schema = json!({"$ref": "#/$defs/n", "maximum": 5, "$defs": {"n": {"minimum": 1}}});
    check(schema, [json!(3)], [json!(0), json!(6)]);
}

#[test]
fn reference_names_an_anchor_or_a_resource() {
    let schema = json!({
        "$id": "https://example.com/root",
        "$defs": {
            "a": {"$anchor": "number", "type": "integer"},
            "b": {"$id": "folder/b", "$anchor": "number", "$ref": "#/$defs/c", "$defs": {"c": {"type": "string"}}},
            "c": {"$dynamicAnchor": "any", "type": "null"}
        },
        "properties": {
            "u": {"$ref": "#number"},
            "v": {"$ref": "/folder/b"},
            "w": {"$ref": "https://example.com/folder/b#number"},
            "x": {"$ref": "root#number"},
            "y": {"$dynamicRef": "#any"},
            "z": {"$ref": "#/$defs/b/$defs/c"}
        }
    });
    check(
        schema,
        [json!({"u": 1, "v": "a", "w": "a", "x": 1, "y": null, "z": "a"})],
        [
            json!({"u": "a"}),
            json!({"v": 1}),
            json!({"w": 1}),
            json!({"x": "a"}),
            json!({"y": 1}),
            json!({"z": 1}),
        ],
    );
}

#[test]
fn both_references_of_a_schema_apply() {
    let schema = json!({
        "$ref": "#least", "$dynamicRef": "#most",
        "$defs": {"least": {"$anchor": "least", "minimum": 1}, "most": {"$anchor": "most", "maximum": 5}}
    });
    check(schema, [json!(3)], [json!(0), json!(6)]);
}

#[test]
fn recursive_schema_reaches_every_level() {
    let schema = json!({
        "type": "object",
        "properties": {"value": {"type": "integer"}, "next": {"$ref": "#"}},
        "required": ["value"]
    });
    check(
        schema,
        [json!({"value": 1, "next": {"value": 2}})],
        [json!({"value": 1, "next": {"value": 2, "next": {"value": "x"}}}), json!({"value": 1, "next": {}})],
    );
}
