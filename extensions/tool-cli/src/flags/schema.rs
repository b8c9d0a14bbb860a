//! Types and constraints of a schema, as far as flags support them. Other values are written as JSON, and validated with
//! the call.

use serde_json::Value;

use super::{
    ValueKind,
    value_kind::{bounds_text, value_text},
};

/// The depth limit of flags; deeper objects are written as JSON.
pub(super) const MAX_FLAG_DEPTH: usize = 4;

/// The maximum number of references from one to the next, which ends circular ones.
const MAX_REFERENCE_CHAIN: usize = 16;

/// The properties of an object or of its branches: name, schema, and `true` if required.
pub(super) fn schema_members<'s>(
    root: &'s Value,
    schema: &'s Value,
    depth: usize,
) -> Vec<(&'s str, &'s Value, bool)> {
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|it| it == name))
    };
    let own = schema.get("properties").and_then(Value::as_object);
    let own = own.into_iter().flatten().map(|(name, property)| (name.as_str(), property, required(name)));
    let mut all: Vec<_> = own.collect();
    if depth > MAX_FLAG_DEPTH {
        return all;
    }
    for (keyword, every) in [("allOf", true), ("oneOf", false), ("anyOf", false)] {
        let branches: Vec<_> = schema.get(keyword).and_then(Value::as_array).into_iter().flatten().collect();
        let branches = branches
            .iter()
            .map(|branch| schema_members(root, resolve_reference(root, branch, &mut Vec::new()), depth + 1));
        let branches: Vec<_> = branches.collect();
        let in_each =
            |name: &str| branches.iter().all(|members| members.iter().any(|it| it.0 == name && it.2));
        for &(name, property, required) in branches.iter().flatten() {
            all.push((name, property, if every { required } else { in_each(name) }));
        }
    }
    all
}

/// Resolves references of `schema`, and adds them to `seen`. A schema without a reference is returned unchanged.
pub(super) fn resolve_reference<'s>(
    root: &'s Value,
    schema: &'s Value,
    seen: &mut Vec<&'s str>,
) -> &'s Value {
    let mut schema = schema;
    for _ in 0..MAX_REFERENCE_CHAIN {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { break };
        let Some(target) = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) else {
            break;
        };
        seen.push(reference);
        schema = target;
    }
    schema
}

/// Returns `true` if a default is worth showing: `null`, `false` and empty values are not.
pub(super) fn is_default_worth_showing(default: &Value) -> bool {
    match default {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(properties) => !properties.is_empty(),
        _ => true,
    }
}

/// The type of a complete schema.
pub(crate) fn schema_kind(schema: &Value) -> ValueKind {
    value_kind(schema, schema, 0)
}

/// The type of `schema`.
pub(super) fn value_kind(root: &Value, schema: &Value, depth: usize) -> ValueKind {
    // Recursive values are written as JSON.
    if depth > MAX_FLAG_DEPTH {
        return ValueKind::Json { text: true };
    }
    let schema = resolve_reference(root, schema, &mut Vec::new());
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<_> = values.iter().filter(|value| !value.is_null()).cloned().collect();
        return if values.is_empty() { ValueKind::Json { text: false } } else { ValueKind::Choice(values) };
    }
    if let Some(value) = schema.get("const") {
        return ValueKind::Choice(vec![value.clone()]);
    }
    let bound = |keyword: &str| schema.get(keyword).cloned();
    match type_names_without_null(schema).as_slice() {
        ["string"] => ValueKind::Text,
        ["integer"] => ValueKind::Integer { least: bound("minimum"), most: bound("maximum") },
        ["number"] => ValueKind::Number { least: bound("minimum"), most: bound("maximum") },
        ["boolean"] => ValueKind::Switch,
        ["array"] if schema.get("prefixItems").is_none() => match schema.get("items") {
            Some(items @ Value::Object(_)) => match value_kind(root, items, depth + 1) {
                // Lists of lists are written as JSON, item by item.
                ValueKind::List(_) => ValueKind::List(Box::new(ValueKind::Json { text: false })),
                of => ValueKind::List(Box::new(of)),
            },
            _ => ValueKind::List(Box::new(ValueKind::Json { text: true })),
        },
        ["object"] if !schema_members(root, schema, 0).is_empty() => ValueKind::Object,
        [] => choice_kind(root, schema, depth + 1),
        several => ValueKind::Json { text: several.contains(&"string") },
    }
}

/// The type of a choice between schemas: the only one that is not `null`, or a choice of documented constants.
fn choice_kind(root: &Value, schema: &Value, depth: usize) -> ValueKind {
    let all = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    let all: Vec<_> = all.into_iter().flatten().filter(|it| it.get("type") != Some(&"null".into())).collect();
    let kinds: Vec<_> = all.iter().map(|branch| value_kind(root, branch, depth)).collect();
    let constants = kinds.iter().map(|kind| match kind {
        ValueKind::Choice(values) => Some(values.clone()),
        _ => None,
    });
    match (kinds.as_slice(), constants.collect::<Option<Vec<_>>>()) {
        ([only], _) => only.clone(),
        (several, Some(constants)) if !several.is_empty() => ValueKind::Choice(constants.concat()),
        (several, _) if !several.is_empty() && several.iter().all(|it| *it == ValueKind::Object) => {
            ValueKind::Object
        }
        (several, _) => ValueKind::Json {
            text: several.is_empty()
                || several.iter().any(|it| matches!(it, ValueKind::Text | ValueKind::Choice(_))),
        },
    }
}

/// The types of a schema without `null`, which a flag cannot express.
fn type_names_without_null(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter(|it| *it != "null").collect()
        }
        _ => Vec::new(),
    }
}

/// Returns `true` if the bounds of `schema` are those of an integer type, which say nothing about the meaning of the value.
fn is_range_of_integer_type(schema: &Value) -> bool {
    let bounds = (schema.get("minimum").cloned(), schema.get("maximum").cloned());
    let (Some(least), Some(most)) = bounds else { return false };
    macro_rules! is_one_of {
        ($($integer:ty)*) => {
            [$((<$integer>::MIN.into(), <$integer>::MAX.into())),*].contains(&(least, most))
        };
    }
    is_one_of!(i8 i16 i32 i64 u8 u16 u32 u64)
}

/// The constraints of a value, as text.
pub(super) fn limit_texts(schema: &Value) -> Vec<String> {
    let is_whole_type = is_range_of_integer_type(schema);
    let range = |least: &str, most: &str, what: &str| {
        if is_whole_type && least == "minimum" {
            return None;
        }
        let words = bounds_text(schema.get(least), schema.get(most));
        let what = match what {
            "" => String::new(),
            one if words.ends_with(" 1") => format!(" {one}"),
            many => format!(" {many}s"),
        };
        (!words.is_empty()).then(|| format!("{}{what}", words.trim_start().trim_start_matches("of ")))
    };
    let word =
        |keyword: &str, before: &str| schema.get(keyword).map(|it| format!("{before}{}", value_text(it)));
    let all = [
        range("minimum", "maximum", ""),
        word("exclusiveMinimum", "greater than "),
        word("exclusiveMaximum", "less than "),
        word("multipleOf", "a multiple of "),
        range("minLength", "maxLength", "character"),
        word("pattern", "matches "),
        word("format", "format: ").filter(|_| !is_whole_type),
        range("minItems", "maxItems", "item"),
        schema.get("uniqueItems").filter(|it| **it == true).map(|_| "unique items".to_owned()),
    ];
    all.into_iter().flatten().collect()
}
