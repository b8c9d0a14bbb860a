//! Objects: properties and additional properties.

use serde_json::{Map, Value, json};

use super::{
    pointer_below,
    rules::Objects,
    types,
    walk::{NodeDraft, SchemaWalk},
};
use crate::diagnostic::Severity;

/// Writes the properties. An optional property that would be infinitely deep is left out.
pub(super) fn convert_properties<'s>(
    walk: &mut SchemaWalk<'s>,
    schema: &'s Map<String, Value>,
    properties: &'s Value,
    at: &str,
    draft: &mut NodeDraft,
) -> Option<Value> {
    let Value::Object(properties) = properties else { return Some(properties.clone()) };
    let mut written = Map::new();
    for (name, source) in properties {
        let place = pointer_below(at, name);
        let is_required = is_required(schema, name);
        check_name_and_recursion(walk, name, source, is_required, &place);
        match walk.convert_node(source, &place) {
            Some(mut property) => {
                if walk.rules.objects == Objects::Strict
                    && !is_required
                    && (types::make_nullable(&mut property) | types::accepts_any_type(source))
                {
                    let message = "`null` differs from absent here, so the model cannot omit the property";
                    walk.add_note(
                        Severity::Note,
                        "nullable_property",
                        &place,
                        message,
                        "treat `null` and absent alike",
                    );
                }
                written.insert(name.clone(), property);
            }
            None if is_required => return None,
            None => draft.sentences.push(format!("`{name}` is left out here.")),
        }
    }
    // An object without any remaining property would be infinitely deep, too.
    (!written.is_empty() || properties.is_empty()).then_some(Value::Object(written))
}

/// Checks Gemini's restrictions on property names and recursive types.
fn check_name_and_recursion(
    walk: &mut SchemaWalk<'_>,
    name: &str,
    property: &Value,
    is_required: bool,
    at: &str,
) {
    let is_plain = (1..=64).contains(&name.len())
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if walk.rules.open_api && !is_plain {
        let message = "the provider documents only names of letters, digits and `_`";
        walk.add_note(
            Severity::Warning,
            "property_name",
            at,
            message,
            "rename it, or use the dialect `gemini`",
        );
    }
    let unrolls = walk.rules.ordering && !walk.rules.open_api;
    if unrolls && is_required && walk.is_recursive(property) {
        let message = "the provider unrolls recursive types and supports them in optional properties only";
        walk.add_note(Severity::Warning, "required_recursion", at, message, "make the property optional");
    }
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|it| it.as_str() == Some(name)))
}

/// Writes `additionalProperties`.
pub(super) fn convert_other_properties<'s>(
    walk: &mut SchemaWalk<'s>,
    schema: &'s Map<String, Value>,
    key: &str,
    value: &'s Value,
    at: &str,
    draft: &mut NodeDraft,
) {
    // Patterns that are replaced decide about all other keys, in either order of the keywords.
    let has_patterns = schema.get("patternProperties").is_some_and(Value::is_object);
    if key == "additionalProperties" && has_patterns && !walk.rules.keeps("patternProperties") {
        return;
    }
    let Value::Object(patterns) = value else {
        // `true` or `false`.
        if walk.rules.objects != Objects::Any && *value != false {
            walk.mark_unsupported(at, "its keys are not declared");
        } else if walk.rules.keeps(key) {
            draft.out.insert(key.to_owned(), value.clone());
        }
        return;
    };
    if walk.rules.objects != Objects::Any {
        walk.mark_unsupported(at, "its keys are not declared");
    } else if key == "additionalProperties" {
        let others = walk.convert_node(value, at).unwrap_or_default();
        draft.out.insert(key.to_owned(), others);
    } else if walk.rules.keeps(key) {
        let all = patterns
            .iter()
            .filter_map(|(name, it)| Some((name.clone(), walk.convert_node(it, &pointer_below(at, name))?)));
        let all: Map<_, _> = all.collect();
        draft.out.insert(key.to_owned(), Value::Object(all));
    } else {
        replace_pattern_properties(walk, schema, patterns, at, draft);
    }
}

/// Replaces `patternProperties` by `additionalProperties` for providers without that keyword; the patterns move
/// into the description.
fn replace_pattern_properties<'s>(
    walk: &mut SchemaWalk<'s>,
    schema: &'s Map<String, Value>,
    patterns: &'s Map<String, Value>,
    at: &str,
    draft: &mut NodeDraft,
) {
    let mut kinds: Vec<Value> = Vec::new();
    for (pattern, schema) in patterns {
        draft.sentences.push(format!("Keys match the pattern `{pattern}`."));
        let kind = walk.convert_node(schema, &pointer_below(at, pattern)).unwrap_or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let message = "`patternProperties` is moved into the description";
    walk.add_note(Severity::Note, "keyword_described", at, message, "no action needed: calls are validated");
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let others = match (is_closed, kinds.len()) {
        (true, 1) => kinds.remove(0),
        (true, _) => json!({ "anyOf": kinds }),
        // Any other key is allowed, with any value.
        (false, _) => Value::Bool(true),
    };
    draft.out.insert("additionalProperties".to_owned(), others);
}

/// Adds the keywords that the provider requires for each object.
pub(super) fn finish_object(
    walk: &mut SchemaWalk<'_>,
    schema: &Map<String, Value>,
    draft: &mut NodeDraft,
    at: &str,
) {
    let is_object = types::has_type(schema, "object") || schema.contains_key("properties");
    if is_object {
        match walk.rules.objects {
            Objects::Any => {}
            Objects::Strict | Objects::Closed => close_object(walk, schema, draft, at),
            Objects::Listed => list_properties(walk, draft, at),
        }
    }
    let Some(Value::Object(properties)) = draft.out.get("properties") else { return };
    if walk.rules.ordering && properties.len() > 1 {
        let names: Vec<_> = properties.keys().cloned().collect();
        draft.out.insert("propertyOrdering".to_owned(), names.into());
    }
}

fn close_object(walk: &mut SchemaWalk<'_>, schema: &Map<String, Value>, draft: &mut NodeDraft, at: &str) {
    if ["anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key)) {
        if schema.contains_key("properties") || schema.contains_key("allOf") {
            walk.mark_unsupported(at, "the object combines several schemas");
        }
        // The alternatives declare their types.
        draft.out.shift_remove("type");
        return;
    }
    let others = schema.get("additionalProperties");
    let is_closed = others == Some(&Value::Bool(false));
    let properties = draft.out.entry("properties").or_insert_with(|| json!({}));
    let names: Vec<_> = properties.as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default();
    // Exactly the named properties become required.
    if walk.rules.objects == Objects::Strict
        && let Some(Value::Array(required)) = schema.get("required")
        && let Some(name) = required.iter().find(|it| !names.iter().any(|name| *it == name))
    {
        walk.mark_unsupported(at, format!("{name} is required but is not a property"));
    }
    // An empty root schema is the schema of a tool without parameters.
    let is_of_nothing = at.is_empty() && others.is_none();
    if !is_closed && names.is_empty() && !is_of_nothing {
        walk.mark_unsupported(at, "its keys are not declared");
    } else if !is_closed {
        let message = "additional properties cannot be sent";
        walk.add_note(
            Severity::Warning,
            "additional_properties",
            at,
            message,
            "set `additionalProperties: false`, or use a dialect that is not strict",
        );
        walk.narrowed = true;
    }
    if walk.rules.objects == Objects::Strict {
        draft.out.insert("required".to_owned(), names.into());
    }
    draft.out.insert("additionalProperties".to_owned(), false.into());
}

fn list_properties(walk: &mut SchemaWalk<'_>, draft: &mut NodeDraft, at: &str) {
    let is_choice = draft.out.contains_key("anyOf");
    let has_some = draft.out.get("properties").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
    // A root without properties is omitted.
    if !is_choice && !has_some && !at.is_empty() {
        walk.mark_unsupported(at, "an object needs properties");
    }
    let Some(Value::Array(mut required)) = draft.out.shift_remove("required") else { return };
    let properties = draft.out.get("properties").and_then(Value::as_object);
    let is_property = |name: &str| properties.is_some_and(|all| all.contains_key(name));
    let (known, unknown): (Vec<_>, Vec<_>) =
        required.drain(..).partition(|name| name.as_str().is_some_and(is_property));
    // A required name without a property is rejected.
    for name in unknown {
        draft.sentences.push(format!("{name} is required."));
        let message = format!("{name} is required but is not a property");
        walk.add_note(
            Severity::Warning,
            "unknown_required",
            &pointer_below(at, "required"),
            message,
            "declare it as a property",
        );
    }
    if !known.is_empty() {
        draft.out.insert("required".to_owned(), known.into());
    }
}
