//! The smallest valid example of a schema.
//!
//! A model corrects its arguments better from an example than from rules alone. Examples and defaults in the schema
//! take precedence over generated values, and generated examples are validated against the schema.

use serde_json::{Map, Number, Value};

use crate::{Plan, pointer::local_pointer};

/// The maximum nesting of schemas; deeper recursion has no small example.
const MAX_DEPTH: usize = 16;

/// Returns the smallest valid value of `schema`, from which `plan` was compiled; `None` if none is found.
pub(super) fn smallest_example(schema: &Value, plan: &Plan) -> Option<Value> {
    let value = ExampleMaker { root: schema }.value_of(schema, "", MAX_DEPTH)?;
    plan.admits(&value).then_some(value)
}

/// Returns a small value of `schema`, which is a part of `root`; it need not be valid.
pub(super) fn part_example(root: &Value, schema: &Value) -> Option<Value> {
    ExampleMaker { root }.value_of(schema, "", MAX_DEPTH)
}

struct ExampleMaker<'s> {
    root: &'s Value,
}

impl<'s> ExampleMaker<'s> {
    /// Returns a value for `schema`, which belongs to the property `name`.
    fn value_of(&self, schema: &'s Value, name: &str, room: usize) -> Option<Value> {
        let room = room.checked_sub(1)?;
        let Value::Object(keywords) = schema else { return Some(Value::from(name)) };
        let first = |key: &str| keywords.get(key).and_then(|list| list.get(0));
        let sample = first("examples").or_else(|| keywords.get("const")).or_else(|| first("enum"));
        if let Some(sample) = sample.or_else(|| keywords.get("default")) {
            return Some(sample.clone());
        }
        if let Some(target) = keywords.get("$ref").and_then(Value::as_str) {
            return self.value_of(self.reference_target(target)?, name, room);
        }
        if let Some(branches) = ["anyOf", "oneOf"].iter().find_map(|key| keywords.get(*key)?.as_array()) {
            return branches.iter().find_map(|branch| self.value_of(branch, name, room));
        }
        let mut types = match keywords.get("type") {
            Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(only)) => vec![only.as_str()],
            _ => Vec::new(),
        };
        types.sort_by_key(|name| *name == "null");
        Some(match types.first() {
            Some(&"string") => text_value(keywords, name).into(),
            Some(&("integer" | "number")) => Value::Number(number_value(keywords)),
            Some(&"boolean") => Value::Bool(true),
            Some(&"array") => self.list_value(keywords, name, room)?,
            Some(&"null") => Value::Null,
            Some(&"object") => self.object_value(keywords, room)?,
            _ if keywords.contains_key("properties") => self.object_value(keywords, room)?,
            _ => Value::from(name),
        })
    }

    fn list_value(&self, keywords: &'s Map<String, Value>, name: &str, room: usize) -> Option<Value> {
        let prefix = keywords.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let least = keywords.get("minItems").and_then(Value::as_u64).unwrap_or(prefix.len() as u64);
        let rest = keywords.get("items").unwrap_or(&Value::Bool(true));
        // An example with many items would not be small.
        let least = usize::try_from(least).ok().filter(|least| *least <= MAX_DEPTH)?;
        (0..least).map(|at| self.value_of(prefix.get(at).unwrap_or(rest), name, room)).collect()
    }

    fn object_value(&self, keywords: &'s Map<String, Value>, room: usize) -> Option<Value> {
        let required = keywords.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let properties = keywords.get("properties");
        let property = |name: &'s Value| {
            let name = name.as_str()?;
            let value = match properties.and_then(|it| it.get(name)) {
                Some(schema) => self.value_of(schema, name, room)?,
                None => Value::from(name),
            };
            Some((name.to_owned(), value))
        };
        let map: Option<Map<_, _>> = required.iter().map(property).collect();
        map.map(Value::Object)
    }

    fn reference_target(&self, reference: &str) -> Option<&'s Value> {
        self.root.pointer(&local_pointer(reference)?)
    }
}

/// Returns a string derived from the name, or a well-known string of the format.
fn text_value(keywords: &Map<String, Value>, name: &str) -> String {
    let format = keywords.get("format").and_then(Value::as_str).unwrap_or_default();
    let known = match format {
        "date" => "2026-01-31",
        "date-time" => "2026-01-31T12:00:00Z",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "email" => "name@example.org",
        "hostname" => "example.org",
        "ipv4" | "ip" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "url" => "https://example.org",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        _ => name,
    };
    let count = |key: &str| keywords.get(key).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
    let most = count("maxLength").unwrap_or(usize::MAX);
    let mut text: String = known.chars().take(most).collect();
    let missing = count("minLength").unwrap_or(0).saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n('x', missing.min(MAX_DEPTH * 4)));
    text
}

/// Returns the number closest to zero within the limits.
fn number_value(keywords: &Map<String, Value>) -> Number {
    let limit = |key: &str| keywords.get(key).and_then(Value::as_f64);
    let is_integer = keywords.get("type").is_some_and(|name| name == "integer");
    // One step beyond an exclusive limit.
    let step = if is_integer { 1.0 } else { 0.5 };
    let least = limit("minimum").or(limit("exclusiveMinimum").map(|it| it + step));
    let most = limit("maximum").or(limit("exclusiveMaximum").map(|it| it - step));
    let within = 1_f64.min(most.unwrap_or(f64::MAX)).max(least.unwrap_or(f64::MIN));
    let number = match limit("multipleOf") {
        Some(step) => (within / step).ceil() * step,
        None => within,
    };
    let integer = number as i64;
    if integer as f64 == number {
        integer.into()
    } else {
        Number::from_f64(number).unwrap_or_else(|| 0.into())
    }
}
