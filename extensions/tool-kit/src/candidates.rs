//! Candidates for the value of an argument while a user types it, from its schema.

use tool_runtime::serde_json::Value;

/// The schemas within one another that are followed.
const MAX_DEPTH: usize = 8;

/// Returns the values that a property of an object may have and that begin with `text`.
pub(crate) fn candidates_of_property(object: &Value, property: &str, text: &str) -> Vec<String> {
    let schema = object.get("properties").and_then(|properties| properties.get(property));
    schema.map_or_else(Vec::new, |schema| candidates_of_schema(object, schema, text))
}

/// Returns the values of a schema in `root` that begin with `text`: of an `enum` or a `const`, also by a reference, and of a boolean.
#[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "for prompts without object"))]
pub(crate) fn candidates_of_schema(root: &Value, schema: &Value, text: &str) -> Vec<String> {
    let mut values = Vec::new();
    add_enumerated_values(root, schema, MAX_DEPTH, &mut values);
    values.retain(|value| value.starts_with(text));
    values
}

fn add_enumerated_values(root: &Value, schema: &Value, remaining_depth: usize, values: &mut Vec<String>) {
    let Some(remaining_depth) = remaining_depth.checked_sub(1) else { return };
    let spelled = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
    let pointer =
        schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    if let Some(referenced) = pointer.and_then(|pointer| root.pointer(pointer)) {
        add_enumerated_values(root, referenced, remaining_depth, values);
    } else if schema.get("enum").is_some() {
        values.extend(list("enum").filter(|value| !value.is_null()).map(spelled));
    } else if let Some(value) = schema.get("const") {
        values.extend(Some(value).filter(|value| !value.is_null()).map(spelled));
    } else if schema.get("type").is_some_and(|kind| kind == "boolean") {
        values.extend(["true", "false"].map(str::to_owned));
    } else {
        ["oneOf", "anyOf"]
            .into_iter()
            .flat_map(list)
            .for_each(|part| add_enumerated_values(root, part, remaining_depth, values));
    }
}

#[cfg(test)]
mod tests {
    use tool_runtime::serde_json::json;

    use super::*;

    #[test]
    fn values_are_found_behind_references_and_alternatives() {
        let object = json!({
            "properties": {
                "style": { "$ref": "#/$defs/Style" },
                "level": { "oneOf": [{ "const": "low" }, { "const": "high" }, { "const": null }] },
                "maybe": { "anyOf": [{ "enum": ["on", 2, null] }, { "type": "null" }] },
                "flag": { "type": "boolean" },
                "loop": { "$ref": "#/properties/loop" },
                "text": { "type": "string" },
            },
            "$defs": { "Style": { "type": "string", "enum": ["short", "shorter", "long"] } },
        });
        for (property, text, expected) in [
            ("style", "sho", &["short", "shorter"][..]),
            ("level", "", &["low", "high"]),
            ("maybe", "", &["on", "2"]),
            ("flag", "t", &["true"]),
            ("loop", "", &[]),
            ("text", "", &[]),
            ("absent", "", &[]),
        ] {
            assert_eq!(candidates_of_property(&object, property, text), expected, "{property}");
        }
    }

    #[test]
    fn eight_schemas_within_one_another_are_followed() {
        let nested =
            |depth: usize| (1..depth).fold(json!({ "const": 1 }), |inner, _| json!({ "anyOf": [inner] }));
        let candidates = |schema| candidates_of_schema(&schema, &schema, "");
        assert_eq!((candidates(nested(8)), candidates(nested(9))), (vec!["1".to_owned()], vec![]));
        assert_eq!(candidates(json!({ "enum": [], "oneOf": [{ "const": "a" }] })), [""; 0]);
        assert_eq!(candidates(json!({ "const": null, "oneOf": [{ "const": "a" }] })), [""; 0]);
        assert_eq!(
            candidates(json!({ "oneOf": [{ "const": "a" }], "anyOf": [{ "const": "b" }] })),
            ["a", "b"]
        );
    }
}
