//! The order of keywords: the most important first, and identical bytes for identical schemas in every build.

use serde_json::{Map, Value};

/// The order of a schema's own keywords; others follow alphabetically.
const ORDER: [&str; 40] = [
    "$ref",
    "type",
    "title",
    "description",
    "const",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "items",
    "prefixItems",
    "contains",
    "minContains",
    "maxContains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "default",
    "examples",
    "deprecated",
    "$defs",
];

/// Sorts the keywords of one schema; the properties that it names keep their order.
pub(super) fn sort_keywords(schema: &mut Map<String, Value>) {
    let rank = |key: &str| ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len());
    if schema.keys().map(|key| (rank(key), key)).is_sorted() {
        return;
    }
    let mut keys: Vec<_> = std::mem::take(schema).into_iter().collect();
    keys.sort_by(|(left, _), (right, _)| rank(left).cmp(&rank(right)).then_with(|| left.cmp(right)));
    schema.extend(keys);
}
