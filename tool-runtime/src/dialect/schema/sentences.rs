//! Schema keywords as sentences for a model.

use serde_json::{Map, Value};

use super::types;

/// Returns the constraint of `keyword` as a sentence; `None` where it constrains nothing.
pub(super) fn constraint_sentence(keyword: &str, value: &Value) -> Option<String> {
    let counted = |what: &str| match value.as_u64() {
        Some(1) => format!("1 {what}"),
        _ => format!("{value} {}", plural(what)),
    };
    Some(match keyword {
        "pattern" => format!("Must match the pattern {}.", quoted_text(value)),
        "format" => format!("Format: {}.", plain_text(value)),
        "minLength" => format!("At least {}.", counted("character")),
        "maxLength" => format!("At most {}.", counted("character")),
        "minimum" => format!("At least {value}."),
        "maximum" => format!("At most {value}."),
        "exclusiveMinimum" => format!("Greater than {value}."),
        "exclusiveMaximum" => format!("Less than {value}."),
        "multipleOf" => format!("A multiple of {value}."),
        "minItems" => format!("At least {}.", counted("item")),
        "maxItems" => format!("At most {}.", counted("item")),
        "minProperties" => format!("At least {}.", counted("property")),
        "maxProperties" => format!("At most {}.", counted("property")),
        "uniqueItems" if value == false => return None,
        "uniqueItems" => "Items must be unique.".to_owned(),
        "default" => format!("Default: {value}."),
        "examples" => format!("Examples: {}.", joined_values(value)),
        "enum" => format!("One of: {}.", joined_values(value)),
        "const" => format!("Always {value}."),
        "readOnly" | "writeOnly" | "$schema" | "$id" | "$comment" | "$anchor" | "propertyOrdering" => {
            return None;
        }
        "deprecated" if value == false => return None,
        "deprecated" => "Deprecated.".to_owned(),
        _ => format!("Must also match this JSON Schema: {{\"{keyword}\":{}}}.", without_references(value)),
    })
}

/// Returns a schema in which each reference is the name of its target: the description of a value has no definitions.
fn without_references(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
            Some(reference) => reference.rsplit('/').next().unwrap_or(reference).into(),
            None => members.iter().map(|(name, value)| (name.clone(), without_references(value))).collect(),
        },
        Value::Array(items) => items.iter().map(without_references).collect(),
        other => other.clone(),
    }
}

/// Returns `true` if an integer bound is a bound of a 64-bit type, or further out: interoperable JSON integers
/// end before it ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259#section-6)), so it constrains nothing. Does
/// not apply to other numbers.
pub(super) fn is_bound_beyond_safe_integers(
    schema: &Map<String, Value>,
    keyword: &str,
    bound: &Value,
) -> bool {
    const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;
    let outwards = match keyword {
        "minimum" => -1.0,
        "maximum" => 1.0,
        _ => return false,
    };
    let is_integer = types::has_type(schema, "integer") && !types::has_type(schema, "number");
    is_integer && bound.as_f64().is_some_and(|bound| bound * outwards > MAX_SAFE_INTEGER)
}

/// Returns `true` if a keyword is an annotation without a constraint.
pub(super) fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$schema"
            | "$id"
            | "$comment"
            | "$anchor"
    )
}

/// Appends `sentences` to the description of `schema`.
pub(super) fn append_sentences(schema: &mut Map<String, Value>, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default().trim_end();
    let between = match description.chars().next_back() {
        None => "",
        Some(_) if description.contains('\n') => "\n",
        Some('.' | '!' | '?' | ':') => " ",
        Some(_) => ". ",
    };
    let all = format!("{description}{between}{}", sentences.join(" "));
    schema.insert("description".to_owned(), all.into());
}

/// Returns the types of the items of a tuple, in order.
pub(super) fn tuple_sentence(items: &[Value]) -> String {
    let types = items.iter().map(|item| match (item.get("type"), item.get("enum").or(item.get("const"))) {
        (_, Some(values)) => values.to_string(),
        (Some(Value::String(name)), None) => name.to_lowercase(),
        _ => item.to_string(),
    });
    format!("The items are, in this order: {}.", types.collect::<Vec<_>>().join(", "))
}

fn joined_values(value: &Value) -> String {
    match value {
        Value::Array(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn quoted_text(value: &Value) -> String {
    format!("`{}`", plain_text(value))
}

fn plural(what: &str) -> String {
    what.strip_suffix('y').map_or_else(|| format!("{what}s"), |stem| format!("{stem}ies"))
}
