//! Arguments for a tool, made of its own schema.

use serde_json::{Map, Value, json};

/// The optional members that a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Least,
    Some,
    All,
}

/// A value of `schema`, whose references lead into `root`; `None` where none is found, such as for most patterns.
pub(crate) fn value(
    root: &Value,
    schema: &Value,
    extent: Extent,
    random: &mut fastrand::Rng,
) -> Option<Value> {
    Generator { root, extent, random }.value(schema, 0)
}

struct Generator<'r> {
    root: &'r Value,
    extent: Extent,
    random: &'r mut fastrand::Rng,
}

impl Generator<'_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        if depth > 12 {
            return None;
        }
        // Examples are often of another format.
        let example = schema.get("examples").and_then(|it| it.get(0));
        if let (Some(example @ Value::String(_)), None) = (example, schema.get("format")) {
            return Some(example.clone());
        }
        if let Some(value) = schema.get("const") {
            return Some(value.clone());
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values.get(self.random.usize(..values.len().max(1))).cloned();
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(reference.strip_prefix('#')?)?;
            return self.value(target, depth + 1);
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(all) = schema.get(key).and_then(Value::as_array) {
                let value =
                    all.iter().find_map(|one| self.value(one, depth + 1).filter(|it| !it.is_null()))?;
                return self.beside(schema, value, depth);
            }
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            let mut merged = Map::new();
            for one in all {
                match self.value(one, depth + 1)? {
                    Value::Object(members) => merged.extend(members),
                    other => return Some(other),
                }
            }
            return self.beside(schema, Value::Object(merged), depth);
        }
        let kind = match schema.get("type") {
            Some(Value::String(one)) => one.as_str(),
            Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).find(|it| *it != "null")?,
            _ if schema.get("properties").is_some() => "object",
            _ => "string",
        };
        Some(match kind {
            "object" => self.object(schema, depth)?,
            "array" => self.list(schema, depth)?,
            "boolean" => json!(self.random.bool()),
            "integer" => json!(self.number(schema, 1.0)? as i64),
            "number" => json!(self.number(schema, 0.5)?),
            "string" => json!(self.text(schema)?),
            _ => Value::Null,
        })
    }

    /// Adds the members of `properties` that stand beside a composition.
    fn beside(&mut self, schema: &Value, value: Value, depth: usize) -> Option<Value> {
        match (value, schema.get("properties")) {
            (Value::Object(mut members), Some(_)) => {
                let Some(Value::Object(more)) = self.object(schema, depth) else { return None };
                members.extend(more);
                Some(Value::Object(members))
            }
            (value, _) => Some(value),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        let required: Vec<_> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut members = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let is_required = required.contains(&&**name);
            let is_chosen = match self.extent {
                Extent::Least => false,
                Extent::Some => self.random.bool(),
                Extent::All => true,
            };
            if !is_required && (!is_chosen || depth > 4) {
                continue;
            }
            match self.value(property, depth + 1) {
                Some(value) => drop(members.insert(name.clone(), value)),
                None if is_required => return None,
                None => {}
            }
        }
        for name in required {
            members.entry(name).or_insert_with(|| json!("a"));
        }
        Some(Value::Object(members))
    }

    fn list(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        let number = |key: &str| schema.get(key).and_then(Value::as_u64);
        // Two: the mock takes a query with one item of a list that may be `null` for a text.
        let least = number("minItems").unwrap_or(0).max(2).min(number("maxItems").unwrap_or(2));
        let items = schema.get("items").cloned().unwrap_or(json!({ "type": "string" }));
        (0..least).map(|_| self.value(&items, depth + 1)).collect::<Option<Vec<_>>>().map(Value::from)
    }

    fn number(&mut self, schema: &Value, step: f64) -> Option<f64> {
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let least = bound("minimum").or(bound("exclusiveMinimum").map(|it| it + step));
        let most = bound("maximum").or(bound("exclusiveMaximum").map(|it| it - step));
        let chosen = f64::from(self.random.u8(1..9));
        let value = match (least, most) {
            (Some(least), Some(most)) if least > most => return None,
            (Some(least), most) => (least + chosen).min(most.unwrap_or(f64::MAX)),
            (None, Some(most)) => chosen.min(most),
            (None, None) => chosen,
        };
        match bound("multipleOf") {
            Some(part) if part > 0.0 => Some((value / part).ceil() * part),
            _ => Some(value),
        }
    }

    fn text(&mut self, schema: &Value) -> Option<String> {
        if schema.get("pattern").is_some() {
            return None;
        }
        if schema.get("contentEncoding").is_some_and(|it| it == "base64") {
            return Some("aGVsbG8=".to_owned());
        }
        let length = |key: &str| {
            schema.get(key).and_then(Value::as_u64).map(|it| usize::try_from(it).unwrap_or(usize::MAX))
        };
        let text = match schema.get("format").and_then(Value::as_str) {
            Some("date") => "2026-01-31".to_owned(),
            Some("date-time") => "2026-01-31T12:30:00Z".to_owned(),
            Some("time") => "12:30:00Z".to_owned(),
            Some("uuid") => "7f3c1a52-1c2b-4a53-9d1e-0f3a5b7c9d11".to_owned(),
            Some("email" | "idn-email") => "a@example.com".to_owned(),
            Some("uri" | "url" | "uri-reference" | "iri") => "https://example.com/a".to_owned(),
            Some("hostname") => "example.com".to_owned(),
            Some("ipv4") => "192.0.2.1".to_owned(),
            Some("ipv6") => "2001:db8::1".to_owned(),
            Some("byte" | "binary") => "aGVsbG8=".to_owned(),
            Some(format) if !["password", "string", "int64", "int32"].contains(&format) => return None,
            _ => {
                let least = length("minLength").unwrap_or(1).max(1);
                let marks = ["a", "b c", "é", "x&y=z", "1,2", "a/b", "100%", "q?#"];
                let mut text = marks[self.random.usize(..marks.len())].to_owned();
                while text.chars().count() < least {
                    text.push('a');
                }
                text.chars().take(length("maxLength").unwrap_or(usize::MAX)).collect()
            }
        };
        Some(text)
    }
}
