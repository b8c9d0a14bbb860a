//! Values that reach the maps of a schema.
//!
//! Each value holds the path to one map and an entry of it, and nothing else: a decoder reads the key of that entry before
//! it misses another property.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::example::part_example;
use crate::pointer::{local_pointer, push_step};

/// The maximum number of maps; further ones are ignored.
const MAX_MAPS: usize = 64;

/// A key that any string type accepts, and a key that any integer type accepts.
const TEXT: &str = "x";
const NUMBER: &str = "1";

/// The location of a map in values of a schema.
#[derive(Debug, Clone, Default)]
pub(crate) struct MapPath(Vec<PathStep>);

#[derive(Debug, Clone)]
enum PathStep {
    Property(String),
    /// The item after these.
    Item(Vec<Value>),
}

impl MapPath {
    /// A key without a meaning.
    pub(crate) const ANY_KEY: &str = TEXT;

    /// Returns a value whose map has one entry of the key `key`.
    pub(crate) fn sample_value(&self, key: &str) -> Value {
        self.0.iter().rev().fold(json!({ key: null }), |inner, step| match step {
            PathStep::Property(name) => json!({ name: inner }),
            PathStep::Item(before) => before.iter().cloned().chain([inner]).collect(),
        })
    }

    /// Returns the location as a JSON pointer.
    pub(crate) fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.0 {
            match step {
                PathStep::Property(name) => push_step(&mut pointer, name),
                PathStep::Item(before) => push_step(&mut pointer, &before.len().to_string()),
            }
        }
        pointer
    }
}

/// Returns the maps of `schema` whose keys have no pattern; of a recursive type, those of one level.
pub(crate) fn maps_with_free_keys(schema: &Value) -> Vec<MapPath> {
    let mut search =
        MapSearch { root: schema, path: MapPath::default(), seen: HashSet::new(), found: Vec::new() };
    search.find_maps_in_schema(schema);
    search.found
}

struct MapSearch<'s> {
    root: &'s Value,
    path: MapPath,
    /// The references that were followed.
    seen: HashSet<&'s str>,
    found: Vec<MapPath>,
}

impl<'s> MapSearch<'s> {
    fn find_maps_in_schema(&mut self, schema: &'s Value) {
        let Some(keywords) = schema.as_object() else { return };
        let members = |value: &'s Value| value.as_object().into_iter().flatten();
        let items = |value: &'s Value| value.as_array().into_iter().flatten();
        for (key, value) in keywords {
            match key.as_str() {
                "properties" => {
                    for (name, schema) in members(value) {
                        self.find_maps_below_step(PathStep::Property(name.clone()), schema);
                    }
                }
                "patternProperties" => {
                    for (_, schema) in members(value) {
                        self.find_maps_below_step(PathStep::Property(NUMBER.to_owned()), schema);
                    }
                }
                "additionalProperties" if *value != false => {
                    if self.found.len() < MAX_MAPS {
                        self.found.push(self.path.clone());
                    }
                    self.find_maps_below_step(PathStep::Property(TEXT.to_owned()), value);
                }
                "items" => self.find_maps_below_step(
                    PathStep::Item(self.sample_values_of_prefix(keywords.get("prefixItems"), usize::MAX)),
                    value,
                ),
                "prefixItems" => {
                    for (at, schema) in items(value).enumerate() {
                        self.find_maps_below_step(
                            PathStep::Item(self.sample_values_of_prefix(Some(value), at)),
                            schema,
                        );
                    }
                }
                "anyOf" | "oneOf" | "allOf" => {
                    items(value).for_each(|branch| self.find_maps_in_schema(branch))
                }
                "$ref" => {
                    let reference = value.as_str().filter(|reference| self.seen.insert(reference));
                    let target = reference.and_then(local_pointer);
                    if let Some(target) = target.and_then(|pointer| self.root.pointer(&pointer)) {
                        self.find_maps_in_schema(target);
                    }
                }
                _ => {}
            }
        }
    }

    fn find_maps_below_step(&mut self, step: PathStep, schema: &'s Value) {
        self.path.0.push(step);
        self.find_maps_in_schema(schema);
        self.path.0.pop();
    }

    /// Returns values of the first `count` schemas of `prefix`.
    fn sample_values_of_prefix(&self, prefix: Option<&'s Value>, count: usize) -> Vec<Value> {
        let prefix = prefix.and_then(Value::as_array).into_iter().flatten();
        prefix.take(count).map(|schema| part_example(self.root, schema).unwrap_or_default()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the location of each map and a value with an entry in it.
    fn maps(schema: Value) -> Vec<(String, Value)> {
        let found = maps_with_free_keys(&schema);
        found.iter().map(|map| (map.pointer(), map.sample_value("k"))).collect()
    }

    fn at(pointer: &str, value: Value) -> (String, Value) {
        (pointer.to_owned(), value)
    }

    #[test]
    fn each_map_with_free_keys_is_reached_by_a_value() {
        let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
        let entry = json!({ "k": null });
        for (schema, expected) in [
            (map.clone(), vec![at("", entry.clone())]),
            (json!({ "additionalProperties": true }), vec![at("", entry.clone())]),
            (json!({ "additionalProperties": false, "title": "T" }), vec![]),
            (json!(true), vec![]),
            (json!({ "properties": { "a/b": map, "c": true } }), vec![at("/a~1b", json!({ "a/b": entry }))]),
            (json!({ "patternProperties": { "^x": map } }), vec![at("/1", json!({ "1": entry }))]),
            (
                json!({ "additionalProperties": map }),
                vec![at("", entry.clone()), at("/x", json!({ "x": entry }))],
            ),
            (json!({ "items": map }), vec![at("/0", json!([entry]))]),
            (
                json!({ "prefixItems": [{ "type": "boolean" }, map, { "type": "array", "items": map }], "items": map }),
                vec![
                    at("/1", json!([true, entry])),
                    at("/2/0", json!([true, {}, [entry]])),
                    at("/3", json!([true, {}, [], entry])),
                ],
            ),
            (
                json!({ "anyOf": [{ "items": map }, map] }),
                vec![at("/0", json!([entry])), at("", entry.clone())],
            ),
            (json!({ "oneOf": [map] }), vec![at("", entry.clone())]),
            (json!({ "allOf": [map] }), vec![at("", entry.clone())]),
            (json!({ "not": map, "default": map, "$defs": { "a": map } }), vec![]),
            (
                json!({
                    "properties": { "a": { "$ref": "#/$defs/m" }, "b": { "$ref": "#/$defs/m" }, "c": { "$ref": "x" } },
                    "$defs": { "m": map },
                }),
                vec![at("/a", json!({ "a": entry }))],
            ),
            (
                json!({ "properties": { "next": { "$ref": "#" }, "m": map } }),
                vec![at("/next/m", json!({ "next": { "m": entry } })), at("/m", json!({ "m": entry }))],
            ),
        ] {
            assert_eq!(maps(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn the_number_of_maps_is_limited() {
        for (count, found) in [(63, 63), (64, 64), (65, 64)] {
            let properties: serde_json::Map<_, _> =
                (0..count).map(|at| (format!("p{at}"), json!({ "additionalProperties": true }))).collect();
            assert_eq!(maps(json!({ "properties": properties })).len(), found);
        }
    }
}
