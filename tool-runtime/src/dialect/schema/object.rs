//! Objects: their properties, and those that they do not name.

use serde_json::{Map, Value, json};

use super::{
    Severity, below,
    rules::Objects,
    types,
    walk::{Draft, Walk},
};

/// The properties as they are sent. One that would go on for ever is left out where it may be.
pub(super) fn properties<'s>(
    walk: &mut Walk<'s>,
    schema: &'s Map<String, Value>,
    properties: &'s Value,
    at: &str,
    draft: &mut Draft,
) -> Option<Value> {
    let Value::Object(properties) = properties else { return Some(properties.clone()) };
    let mut written = Map::new();
    for (name, source) in properties {
        let place = below(at, name);
        let is_required = is_required(schema, name);
        name_and_recursion(walk, name, source, is_required, &place);
        match walk.node(source, &place) {
            Some(mut property) => {
                if walk.rules.objects == Objects::Strict
                    && !is_required
                    && (types::make_nullable(&mut property) | types::is_unsaid(source))
                {
                    let message = "`null` is a value of its own, so that the model cannot leave it out";
                    walk.remark(Severity::Note, &place, message, "do not tell `null` from absence");
                }
                written.insert(name.clone(), property);
            }
            None if is_required => return None,
            None => draft.sentences.push(format!("`{name}` is left out here.")),
        }
    }
    // An object of which nothing is left would go on for ever, too.
    (!written.is_empty() || properties.is_empty()).then_some(Value::Object(written))
}

/// What Gemini writes of the names of parameters, and of types that hold themselves.
fn name_and_recursion(walk: &mut Walk<'_>, name: &str, property: &Value, is_required: bool, at: &str) {
    let is_plain = (1..=64).contains(&name.len())
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if walk.rules.open_api && !is_plain {
        let message = "the provider promises to take names of letters, digits and `_` only";
        walk.remark(Severity::Warning, at, message, "rename it, or use the dialect `gemini`");
    }
    let unrolls = walk.rules.ordering && !walk.rules.open_api;
    if unrolls && is_required && walk.leads_round(property) {
        let message =
            "what holds itself is unrolled by the provider, which takes it in optional properties only";
        walk.remark(Severity::Warning, at, message, "make the property optional");
    }
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|it| it.as_str() == Some(name)))
}

/// The properties that are not named.
pub(super) fn others<'s>(
    walk: &mut Walk<'s>,
    schema: &'s Map<String, Value>,
    key: &str,
    value: &'s Value,
    at: &str,
    draft: &mut Draft,
) {
    let Value::Object(patterns) = value else {
        // `true` or `false`.
        if walk.rules.objects != Objects::Any && *value != false {
            walk.stop(at, "its keys are not known beforehand");
        } else if walk.rules.keeps(key) {
            draft.out.insert(key.to_owned(), value.clone());
        }
        return;
    };
    if walk.rules.objects != Objects::Any {
        walk.stop(at, "its keys are not known beforehand");
    } else if key == "additionalProperties" {
        let others = walk.node(value, at).unwrap_or_default();
        draft.out.insert(key.to_owned(), others);
    } else if walk.rules.keeps(key) {
        let all =
            patterns.iter().filter_map(|(name, it)| Some((name.clone(), walk.node(it, &below(at, name))?)));
        let all: Map<_, _> = all.collect();
        draft.out.insert(key.to_owned(), Value::Object(all));
    } else {
        by_pattern(walk, schema, patterns, at, draft);
    }
}

/// Keys of a pattern, for those who know of none: any key, and words.
fn by_pattern<'s>(
    walk: &mut Walk<'s>,
    schema: &'s Map<String, Value>,
    patterns: &'s Map<String, Value>,
    at: &str,
    draft: &mut Draft,
) {
    let mut kinds: Vec<Value> = Vec::new();
    for (pattern, schema) in patterns {
        draft.sentences.push(format!("Keys match the pattern `{pattern}`."));
        let kind = walk.node(schema, &below(at, pattern)).unwrap_or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let message = "`patternProperties` is said in words";
    walk.remark(Severity::Note, at, message, "nothing has to be done, calls are checked");
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let others = match (is_closed, kinds.len()) {
        (true, 1) => kinds.remove(0),
        (true, _) => json!({ "anyOf": kinds }),
        // Any other key is allowed, and may hold anything else.
        (false, _) => Value::Bool(true),
    };
    draft.out.insert("additionalProperties".to_owned(), others);
}

/// Says of an object what the provider wants to be told of each.
pub(super) fn finish(walk: &mut Walk<'_>, schema: &Map<String, Value>, draft: &mut Draft, at: &str) {
    keep_pattern(schema, walk, draft);
    let is_object = types::has(schema, "object") || schema.contains_key("properties");
    if is_object {
        match walk.rules.objects {
            Objects::Any => {}
            Objects::Strict | Objects::Closed => closed(walk, schema, draft, at),
            Objects::Listed => listed(walk, draft, at),
        }
    }
    let Some(Value::Object(properties)) = draft.out.get("properties") else { return };
    if walk.rules.ordering && properties.len() > 1 {
        let names: Vec<_> = properties.keys().cloned().collect();
        draft.out.insert("propertyOrdering".to_owned(), names.into());
    }
}

/// `additionalProperties: false` may come after the patterns that became it.
fn keep_pattern(schema: &Map<String, Value>, walk: &Walk<'_>, draft: &mut Draft) {
    let became = schema.contains_key("patternProperties") && !walk.rules.keeps("patternProperties");
    if became && draft.out.get("additionalProperties") == Some(&Value::Bool(false)) {
        draft.out.shift_remove("additionalProperties");
    }
}

fn closed(walk: &mut Walk<'_>, schema: &Map<String, Value>, draft: &mut Draft, at: &str) {
    if ["anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key)) {
        if schema.contains_key("properties") || schema.contains_key("allOf") {
            walk.stop(at, "an object is made of several parts");
        }
        // The parts say what they are.
        draft.out.shift_remove("type");
        return;
    }
    let others = schema.get("additionalProperties");
    let is_closed = others == Some(&Value::Bool(false));
    let properties = draft.out.entry("properties").or_insert_with(|| json!({}));
    let names: Vec<_> = properties.as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default();
    // All that are named become required, and only they.
    if walk.rules.objects == Objects::Strict
        && let Some(Value::Array(required)) = schema.get("required")
        && let Some(name) = required.iter().find(|it| !names.iter().any(|name| *it == name))
    {
        walk.stop(at, format!("{name} is required, and is not among the properties"));
    }
    // Arguments of which nothing is said are those of a tool without parameters.
    let is_of_nothing = at.is_empty() && others.is_none();
    if !is_closed && names.is_empty() && !is_of_nothing {
        walk.stop(at, "its keys are not known beforehand");
    } else if !is_closed {
        let message = "properties that are not named cannot be sent";
        walk.remark(Severity::Warning, at, message, "say `additionalProperties: false`, or send it loosely");
        walk.narrowed = true;
    }
    if walk.rules.objects == Objects::Strict {
        draft.out.insert("required".to_owned(), names.into());
    }
    draft.out.insert("additionalProperties".to_owned(), false.into());
}

fn listed(walk: &mut Walk<'_>, draft: &mut Draft, at: &str) {
    let is_choice = draft.out.contains_key("anyOf");
    let has_some = draft.out.get("properties").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
    // The root is left out where it has none.
    if !is_choice && !has_some && !at.is_empty() {
        walk.stop(at, "an object has to have properties");
    }
    let Some(Value::Array(mut required)) = draft.out.shift_remove("required") else { return };
    let properties = draft.out.get("properties").and_then(Value::as_object);
    let is_property = |name: &str| properties.is_some_and(|all| all.contains_key(name));
    let (known, unknown): (Vec<_>, Vec<_>) =
        required.drain(..).partition(|name| name.as_str().is_some_and(is_property));
    // A name that is no property is refused.
    for name in unknown {
        draft.sentences.push(format!("{name} is required."));
        let message = format!("{name} is required, and is not among the properties");
        walk.remark(Severity::Warning, &below(at, "required"), message, "list it among the properties");
    }
    if !known.is_empty() {
        draft.out.insert("required".to_owned(), known.into());
    }
}
