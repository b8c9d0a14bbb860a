//! A tool in one line.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The most choices of one parameter that are written out.
const MAX_CHOICES: usize = 8;

/// Returns the signature of a tool: `add(a: number, b: number)`. Required parameters come first, in the order of `required`,
/// and then the optional ones, sorted, with `?`. The type of the result follows unless it is an object.
pub(super) fn tool_signature(
    name: &str,
    input: &Map<String, Value>,
    output: Option<&Map<String, Value>>,
) -> String {
    let properties = input.get("properties").and_then(Value::as_object);
    let required: Vec<&str> = required_property_names(input).collect();
    let known: HashSet<&str> = required.iter().copied().collect();
    let property_type_text = |name: &str| {
        properties.and_then(|all| all.get(name)).map_or_else(|| "any".to_owned(), schema_type_text)
    };
    let mut parameters: Vec<_> =
        required.iter().map(|name| format!("{name}: {}", property_type_text(name))).collect();
    let mut optional: Vec<&str> = properties
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .filter(|name| !known.contains(name))
        .collect();
    optional.sort_unstable();
    parameters.extend(optional.into_iter().map(|name| format!("{name}?: {}", property_type_text(name))));
    let result = output.map(|schema| schema_type_text(&Value::Object(schema.clone())));
    let result = result.filter(|it| it != "object" && it != "any").map(|it| format!(" -> {it}"));
    format!("{name}({}){}", parameters.join(", "), result.unwrap_or_default())
}

/// Returns the names of the required properties, without duplicates.
pub(super) fn required_property_names(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut known = HashSet::new();
    names.iter().filter_map(Value::as_str).filter(move |name| known.insert(*name))
}

fn schema_type_text(schema: &Value) -> String {
    let Value::Object(schema) = schema else { return "any".to_owned() };
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(Value::Array(values)) = schema.get("enum")
        && (1..=MAX_CHOICES).contains(&values.len())
    {
        return union_type_text(values.iter().map(Value::to_string));
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => match schema.get("items") {
            Some(items) => format!("array<{}>", schema_type_text(items)),
            None => "array<any>".to_owned(),
        },
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            union_type_text(names.iter().filter_map(Value::as_str).map(str::to_owned))
        }
        _ => {
            let choices = ["anyOf", "oneOf"].into_iter().find_map(|key| schema.get(key)?.as_array());
            choices.map_or_else(|| "any".to_owned(), |all| union_type_text(all.iter().map(schema_type_text)))
        }
    }
}

fn union_type_text(types: impl Iterator<Item = String>) -> String {
    let mut known = HashSet::new();
    let all: Vec<String> = types.filter(|name| known.insert(name.clone())).collect();
    if all.is_empty() { "any".to_owned() } else { all.join(" | ") }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_CHOICES, schema_type_text, tool_signature};

    fn check(input: Value, output: Option<Value>, expected: &str) {
        let output = output.as_ref().map(|it| it.as_object().unwrap());
        assert_eq!(tool_signature("f", input.as_object().unwrap(), output), expected);
    }

    #[test]
    fn a_signature_has_all_parameters_and_their_types() {
        let number = json!({ "type": "number" });
        let input = json!({ "properties": { "a": number, "b": number }, "required": ["b", "a"] });
        // N04
        check(input, None, "f(b: number, a: number)");
        let input = json!({
            "properties": {
                "z": { "type": "array", "items": { "type": "string" } },
                "kind": { "enum": ["x", "y"] },
                "b": { "type": ["integer", "null"] },
                "c": { "anyOf": [{ "type": "string" }, { "type": "object" }, { "type": "string" }] },
                "d": { "$ref": "#/$defs/d" },
            },
            "required": ["z", "z", "gone"],
        });
        let expected = r#"f(z: array<string>, gone: any, b?: integer | null, c?: string | object, d?: any, kind?: "x" | "y")"#;
        check(input, None, expected);
        check(json!({}), Some(json!({ "type": "object" })), "f()");
        check(json!({}), Some(json!({ "type": "array", "items": number })), "f() -> array<number>");
    }

    #[test]
    fn a_type_is_written_as_its_schema_says() {
        let many = json!((0..MAX_CHOICES).collect::<Vec<_>>());
        let too_many = json!((0..=MAX_CHOICES).collect::<Vec<_>>());
        for (schema, expected) in [
            (json!(true), "any"),
            (json!({}), "any"),
            (json!({ "const": "x", "type": "string" }), "\"x\""),
            (json!({ "enum": many }), "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7"),
            (json!({ "enum": too_many, "type": "integer" }), "integer"),
            (json!({ "enum": [], "type": "string" }), "string"),
            (json!({ "enum": [1, 1] }), "1"),
            (json!({ "type": "array" }), "array<any>"),
            (json!({ "type": "array", "items": { "type": "array", "items": true } }), "array<array<any>>"),
            (json!({ "type": [] }), "any"),
            (json!({ "type": ["string", 7, "null"] }), "string | null"),
            (json!({ "type": 7, "oneOf": [{ "type": "null" }, { "const": 1 }] }), "null | 1"),
            (json!({ "anyOf": [{ "type": "x" }], "oneOf": [{ "type": "y" }] }), "x"),
            (json!({ "anyOf": 7, "oneOf": [{ "type": "y" }] }), "y"),
            (json!({ "oneOf": [] }), "any"),
        ] {
            assert_eq!(schema_type_text(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_result_without_a_type_of_interest_is_not_written() {
        for (output, expected) in [
            (json!({}), "f()"),
            (json!({ "type": "object" }), "f()"),
            (json!({ "type": "string" }), "f() -> string"),
        ] {
            check(json!({}), Some(output), expected);
        }
        check(json!({ "required": ["a", 7, "b", "a"], "properties": [] }), None, "f(a: any, b: any)");
        check(json!({ "required": "a", "properties": { "a": {} } }), None, "f(a?: any)");
    }
}
