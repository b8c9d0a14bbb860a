//! Size limits of schemas.

use serde_json::{Map, Value};

use super::{
    rules::{Limits, Rules},
    walk::SchemaWalk,
};

#[derive(Default)]
struct Size {
    properties: usize,
    depth: usize,
    characters: usize,
    enum_values: usize,
    large_enum: bool,
}

/// Stops the conversion where the converted `schema` exceeds the provider's limits.
pub(super) fn check_limits(schema: &Value, rules: &Rules, walk: &mut SchemaWalk<'_>) {
    let Some(limits) = rules.limits else { return };
    let mut size = Size::default();
    measure_schema(schema, 0, limits, &mut size);
    let too_many = [
        (size.properties, limits.properties, "properties"),
        (size.depth, limits.depth, "levels of objects"),
        (size.characters, limits.characters, "characters of names and values"),
        (size.enum_values, limits.enum_values, "values of enums"),
    ];
    for (count, most, what) in too_many {
        if count > most {
            walk.mark_unsupported("", format!("there are {count} {what}; at most {most} are allowed"));
        }
    }
    if size.large_enum {
        let (values, characters) = limits.large_enum;
        walk.mark_unsupported(
            "",
            format!("an enum of more than {values} values has more than {characters} characters"),
        );
    }
}

fn measure_schema(schema: &Value, depth: usize, limits: &Limits, size: &mut Size) {
    let Value::Object(schema) = schema else { return };
    let mut below = depth;
    if let Some(Value::Object(properties)) = schema.get("properties") {
        below += 1;
        size.depth = size.depth.max(below);
        size.properties += properties.len();
    }
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("properties", Value::Object(named)) => measure_named_schemas(named, below, limits, size),
            // A definition may be used at any depth: only its own levels are counted.
            ("$defs", Value::Object(named)) => measure_named_schemas(named, 0, limits, size),
            ("anyOf", Value::Array(branches)) => {
                branches.iter().for_each(|it| measure_schema(it, below, limits, size))
            }
            ("items", items) => measure_schema(items, below, limits, size),
            ("enum", Value::Array(values)) => measure_enum_values(values, limits, size),
            ("const", value) => size.characters += count_characters(value),
            _ => {}
        }
    }
}

fn measure_named_schemas(named: &Map<String, Value>, depth: usize, limits: &Limits, size: &mut Size) {
    for (name, schema) in named {
        size.characters += name.chars().count();
        measure_schema(schema, depth, limits, size);
    }
}

fn measure_enum_values(values: &[Value], limits: &Limits, size: &mut Size) {
    let length: usize = values.iter().map(count_characters).sum();
    size.characters += length;
    size.enum_values += values.len();
    size.large_enum |= values.len() > limits.large_enum.0 && length > limits.large_enum.1;
}

fn count_characters(value: &Value) -> usize {
    value.as_str().map_or(0, |text| text.chars().count())
}
