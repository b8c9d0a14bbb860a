//! `allOf` as one schema.
//!
//! Generators write a reference with a default, and inheritance, as `allOf`. Most providers do not support it, but the
//! members of most are one schema: they are joined where the result admits the same values, and the rest stays.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    references::{reference_target, references_within},
    rules::{References, Rules},
};

/// The keywords without effect on values: those of the schema itself precede those of its members.
const ANNOTATIONS: [&str; 7] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// The values that references may be replaced by, as a multiple of those of the schema, and at the least: many references
/// to one large target would make a small schema huge.
const INLINED_RATIO: usize = 4;
const MIN_INLINED_VALUES: usize = 10_000;

/// Keywords that depend on each other within one schema: those of two schemas are not joined.
const GROUPS: [&[&str]; 3] = [
    &["if", "then", "else"],
    &["contains", "minContains", "maxContains"],
    &["items", "prefixItems", "additionalItems"],
];

/// Keywords whose meaning depends on all others of their schema, or on where it stands.
const ALONE: [&str; 6] =
    ["unevaluatedItems", "unevaluatedProperties", "$id", "$schema", "$anchor", "$dynamicAnchor"];

/// Returns `schema` with joined members of each `allOf` whose members can be joined.
pub(super) fn join_all_of<'s>(schema: &'s Value, rules: &Rules) -> Cow<'s, Value> {
    // A reference to a member would lead nowhere afterwards.
    if !has_all_of(schema) || references_within(schema).iter().any(|reference| reference.contains("/allOf/"))
    {
        return Cow::Borrowed(schema);
    }
    let mut joined = schema.clone();
    let keeps_references = rules.references != References::WrittenOut;
    let values_left = MIN_INLINED_VALUES.max(INLINED_RATIO.saturating_mul(count_values(schema)));
    AllOfJoining { root: schema, keeps_references, inside: Vec::new(), values_left }.join_below(&mut joined);
    Cow::Owned(joined)
}

fn has_all_of(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.contains_key("allOf") || members.values().any(has_all_of),
        Value::Array(items) => items.iter().any(has_all_of),
        _ => false,
    }
}

struct AllOfJoining<'s> {
    root: &'s Value,
    /// Set where a reference may have annotations beside it.
    keeps_references: bool,
    /// The references whose targets are being joined.
    inside: Vec<String>,
    /// The number of values that references may still be replaced by.
    values_left: usize,
}

impl AllOfJoining<'_> {
    /// Joins the members of each `allOf` of `schema`, inner ones first.
    fn join_below(&mut self, schema: &mut Value) {
        let Value::Object(keywords) = schema else { return };
        for (key, value) in keywords.iter_mut() {
            match (key.as_str(), value) {
                (
                    "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                    Value::Object(all),
                ) => {
                    all.values_mut().for_each(|schema| self.join_below(schema));
                }
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(all)) => {
                    all.iter_mut().for_each(|schema| self.join_below(schema));
                }
                (
                    "items"
                    | "contains"
                    | "additionalProperties"
                    | "propertyNames"
                    | "not"
                    | "if"
                    | "then"
                    | "else",
                    schema,
                ) => {
                    self.join_below(schema);
                }
                _ => {}
            }
        }
        self.join_members(keywords);
    }

    fn join_members(&mut self, keywords: &mut Map<String, Value>) {
        let Some(Value::Array(members)) = keywords.get("allOf") else { return };
        // A reference with annotations stays one.
        if self.keeps_references
            && let [Value::Object(member)] = &members[..]
            && member.len() == 1
            && let Some(reference) = member.get("$ref").cloned()
            && keywords.keys().all(|key| key == "allOf" || ANNOTATIONS.contains(&key.as_str()))
        {
            keywords.shift_remove("allOf");
            keywords.insert("$ref".to_owned(), reference);
            return;
        }
        let Some(Value::Array(members)) = keywords.shift_remove("allOf") else { return };
        let mut rest = Vec::new();
        for member in members {
            if member == Value::Bool(true) {
                continue;
            }
            let joined = self.resolve_member(&member).and_then(|member| intersect_schemas(keywords, &member));
            match joined {
                Some(joined) => *keywords = joined,
                None => rest.push(member),
            }
        }
        if !rest.is_empty() {
            keywords.insert("allOf".to_owned(), rest.into());
        }
    }

    /// Returns the keywords of a member, and those of the target of its reference; `None` for one that has no keywords, or
    /// leads back to itself.
    fn resolve_member(&mut self, member: &Value) -> Option<Map<String, Value>> {
        let Value::Object(member) = member else { return None };
        let Some(reference) = member.get("$ref").and_then(Value::as_str) else { return Some(member.clone()) };
        if self.inside.iter().any(|it| it == reference) {
            return None;
        }
        let target = reference_target(self.root, reference)?;
        self.values_left = self.values_left.checked_sub(count_values(target))?;
        let mut target = target.clone();
        self.inside.push(reference.to_owned());
        self.join_below(&mut target);
        let Value::Object(target) = target else {
            self.inside.pop();
            return None;
        };
        let mut own = member.clone();
        own.shift_remove("$ref");
        let resolved = match target.contains_key("$ref") {
            true => self.resolve_member(&Value::Object(target)),
            false => Some(target),
        };
        self.inside.pop();
        intersect_schemas(&own, &resolved?)
    }
}

fn count_values(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => 1 + members.values().map(count_values).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(count_values).sum::<usize>(),
        _ => 1,
    }
}

/// Returns a schema for the values that both schemas admit; `None` where it cannot be written without `allOf`.
fn intersect_schemas(own: &Map<String, Value>, other: &Map<String, Value>) -> Option<Map<String, Value>> {
    // A closed object and another one: the properties of the other would be refused.
    let is_closed = |schema: &Map<String, Value>| {
        schema.get("additionalProperties").is_some_and(|others| *others != true)
    };
    let names = |schema: &Map<String, Value>| -> Vec<String> {
        let all = schema.get("properties").and_then(Value::as_object);
        all.map(|all| all.keys().cloned().collect()).unwrap_or_default()
    };
    let adds = |one: &Map<String, Value>, closed: &Map<String, Value>| {
        let known = names(closed);
        names(one).iter().any(|name| !known.contains(name))
    };
    if is_closed(own) && adds(other, own) || is_closed(other) && adds(own, other) {
        return None;
    }
    let has_of =
        |schema: &Map<String, Value>, group: &[&str]| group.iter().any(|key| schema.contains_key(*key));
    let is_closed_to_patterns = is_closed(own) && other.contains_key("patternProperties")
        || is_closed(other) && own.contains_key("patternProperties");
    let depends = GROUPS.iter().any(|group| has_of(own, group) && has_of(other, group));
    if is_closed_to_patterns || depends || has_of(own, &ALONE) || has_of(other, &ALONE) {
        return None;
    }
    let mut joined = own.clone();
    // Texts of the other schema beside those of this one.
    let mut texts = Vec::new();
    for (key, value) in other {
        let joint = match (joined.get(key), key.as_str()) {
            (None, _) => value.clone(),
            (Some(own), _) if own == value => continue,
            (Some(_), key) if ANNOTATIONS.contains(&key) => {
                if let ("title" | "description", Some(text)) = (key, value.as_str()) {
                    texts.push(text);
                }
                continue;
            }
            (Some(Value::Bool(true)), "additionalProperties") => value.clone(),
            (Some(own), "additionalProperties") if *value == true => own.clone(),
            (Some(Value::Object(own)), "properties") => joined_properties(own, value.as_object()?)?.into(),
            (Some(Value::Array(own)), "required") => {
                let own = own.iter().chain(value.as_array()?.iter().filter(|name| !own.contains(name)));
                own.cloned().collect::<Vec<_>>().into()
            }
            (Some(Value::Array(own)), "enum") => {
                let other = value.as_array()?;
                own.iter().filter(|value| other.contains(value)).cloned().collect::<Vec<_>>().into()
            }
            (Some(own), "type") => common_types(own, value)?,
            _ => return None,
        };
        joined.insert(key.clone(), joint);
    }
    if !texts.is_empty() {
        let own = joined.get("description").and_then(Value::as_str);
        let all: Vec<_> = own.into_iter().chain(texts).collect();
        joined.insert("description".to_owned(), all.join("\n").into());
    }
    Some(joined)
}

/// Returns the schemas of both by their names; each common one is joined.
fn joined_properties(own: &Map<String, Value>, other: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut joined = own.clone();
    for (name, schema) in other {
        let joint = match joined.get(name) {
            None => schema.clone(),
            Some(own) if own == schema => continue,
            Some(own) => intersect_schemas(own.as_object()?, schema.as_object()?)?.into(),
        };
        joined.insert(name.clone(), joint);
    }
    Some(joined)
}

/// Returns the types that both permit; `None` if there is none.
fn common_types(own: &Value, other: &Value) -> Option<Value> {
    let listed = |types: &Value| types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
    let (own, other) = (listed(own), listed(other));
    let has = |types: &[Value], name: &Value| {
        types.contains(name) || *name == "integer" && types.iter().any(|it| it == "number")
    };
    let common = own.iter().filter(|it| has(&other, it)).chain(other.iter().filter(|it| has(&own, it)));
    let mut types: Vec<Value> = Vec::new();
    for name in common {
        if !types.contains(name) {
            types.push(name.clone());
        }
    }
    match types.len() {
        0 => None,
        1 => types.pop(),
        _ => Some(types.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dialect::provider::{Gemini, WireFormat as _};

    fn rules(json_schema: bool) -> &'static Rules {
        Gemini { json_schema }.rules().0
    }

    fn in_property(property: Value) -> Value {
        let schema = json!({
            "type": "object",
            "properties": { "p": property },
            "$defs": {
                "E": { "type": "string", "enum": ["a", "b"] },
                "Pet": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
                "Loop": { "allOf": [{ "$ref": "#/$defs/Loop" }] },
            },
        });
        join_all_of(&schema, rules(true))["properties"]["p"].clone()
    }

    #[test]
    fn members_are_joined_where_the_result_admits_the_same_values() {
        for (property, expected) in [
            (
                json!({ "allOf": [{ "$ref": "#/$defs/E" }], "default": "a" }),
                json!({ "default": "a", "$ref": "#/$defs/E" }),
            ),
            (
                json!({ "allOf": [{ "type": "string" }], "minLength": 1 }),
                json!({ "minLength": 1, "type": "string" }),
            ),
            (
                json!({ "allOf": [{ "$ref": "#/$defs/Pet" }, { "type": "object", "properties": { "age": { "type": "integer" } } }] }),
                json!({ "type": "object", "properties": { "name": { "type": "string" }, "age": { "type": "integer" } }, "required": ["name"] }),
            ),
            (
                json!({ "type": "object", "properties": { "age": { "type": "number" } }, "allOf": [{ "$ref": "#/$defs/Pet" }] }),
                json!({ "type": "object", "properties": { "age": { "type": "number" }, "name": { "type": "string" } }, "required": ["name"] }),
            ),
            (
                json!({ "anyOf": [{ "allOf": [{ "$ref": "#/$defs/E" }] }, { "type": "null" }] }),
                json!({ "anyOf": [{ "$ref": "#/$defs/E" }, { "type": "null" }] }),
            ),
            (
                json!({ "allOf": [{ "type": ["string", "integer"] }, { "type": ["number", "null"] }] }),
                json!({ "type": "integer" }),
            ),
            (json!({ "allOf": [{ "enum": ["a", "b"] }, { "enum": ["b", "c"] }] }), json!({ "enum": ["b"] })),
            (
                json!({ "allOf": [{ "additionalProperties": true }, { "additionalProperties": { "type": "string" } }] }),
                json!({ "additionalProperties": { "type": "string" } }),
            ),
            (
                json!({ "allOf": [{ "additionalProperties": { "type": "string" } }, { "additionalProperties": true }] }),
                json!({ "additionalProperties": { "type": "string" } }),
            ),
            (
                json!({ "allOf": [{ "required": ["a", "b"] }, { "required": ["b", "c"] }] }),
                json!({ "required": ["a", "b", "c"] }),
            ),
            (
                json!({ "description": "A.", "default": 1, "allOf": [{ "description": "B.", "default": 2, "minimum": 0 }] }),
                json!({ "description": "A.\nB.", "default": 1, "minimum": 0 }),
            ),
        ] {
            assert_eq!(in_property(property.clone()), expected, "{property}");
        }
    }

    #[test]
    fn members_that_contradict_or_close_each_other_stay() {
        for property in [
            json!({ "allOf": [{ "minLength": 1 }, { "minLength": 2 }] }),
            json!({ "allOf": [{ "type": "string" }, { "type": "object" }] }),
            json!({ "allOf": [
                { "additionalProperties": { "type": "string" } }, { "additionalProperties": { "type": "integer" } },
            ] }),
            json!({ "allOf": [{ "not": { "const": 1 } }, { "not": { "const": 2 } }] }),
            json!({ "items": { "minLength": 1 }, "allOf": [{ "prefixItems": [{ "maxLength": 2 }] }] }),
            json!({ "if": true, "then": true, "allOf": [{ "else": false }] }),
            json!({ "additionalProperties": false, "allOf": [{ "patternProperties": { "^x": true } }] }),
            json!({ "unevaluatedProperties": false, "allOf": [{ "properties": { "b": true } }] }),
            json!({
                "properties": { "a": true }, "additionalProperties": false, "allOf": [{ "properties": { "b": true } }],
            }),
        ] {
            let joined = in_property(property.clone());
            assert!(joined["allOf"].as_array().is_some_and(|rest| !rest.is_empty()), "{property}: {joined}");
        }
        assert!(
            in_property(json!({ "allOf": [{ "$ref": "#/$defs/Loop" }, { "minLength": 1 }] }))["allOf"]
                .is_array()
        );
        // Where references are replaced by their targets, so is this one, and its annotations stay.
        let schema = json!({
            "properties": { "p": { "allOf": [{ "$ref": "#/$defs/E" }], "default": "a" } },
            "$defs": { "E": { "enum": ["a", "b"] } },
        });
        let inlined = json!({ "default": "a", "enum": ["a", "b"] });
        assert_eq!(join_all_of(&schema, rules(false))["properties"]["p"], inlined);
        // A small schema stays small.
        let many: Vec<_> = (0..2_000)
            .map(|_| json!({ "allOf": [{ "$ref": "#/$defs/Large" }, { "minLength": 1 }] }))
            .collect();
        let large: Map<_, _> = (0..100).map(|at| (format!("p{at}"), json!({ "type": "string" }))).collect();
        let schema = json!({ "anyOf": many, "$defs": { "Large": { "properties": large } } });
        let sizes = [&schema, &join_all_of(&schema, rules(true))].map(count_values);
        assert!(sizes[1] <= 5 * sizes[0].max(MIN_INLINED_VALUES), "{sizes:?}");
        let refers = json!({ "allOf": [{ "title": "A" }], "properties": { "p": { "$ref": "#/allOf/0" } } });
        assert!(matches!(join_all_of(&refers, rules(true)), Cow::Borrowed(_)));
        let plain = json!({ "type": "object" });
        assert!(matches!(join_all_of(&plain, rules(true)), Cow::Borrowed(_)));
    }
}
