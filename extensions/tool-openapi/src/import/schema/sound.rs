//! Keywords of earlier versions, and values that a keyword cannot have.
//!
//! A keyword that cannot be used is left out with a warning: its schema then accepts more, and the server has the last word.

use std::collections::HashMap;

use jsonschema::PatternOptions;
use serde_json::{Map, Value, json};

use super::{MALFORMED, Place, Report, kind};

/// The patterns of a document, and whether any engine compiles them.
#[derive(Default)]
pub(super) struct Patterns {
    known: HashMap<String, bool>,
}

/// A schema that is translated.
struct Schema<'s> {
    members: &'s mut Map<String, Value>,
    tool: &'s str,
    place: &'s Place,
    report: &'s mut Report,
}

impl Patterns {
    /// Replaces keywords of earlier versions: `nullable`, boolean exclusive bounds, `example`, `items` as a list. They are also
    /// found in documents that claim to be of a later version. Then leaves out what no validator can use.
    pub(super) fn modernize(
        &mut self,
        old: &Map<String, Value>,
        new: &mut Map<String, Value>,
        tool: &str,
        place: &Place,
        report: &mut Report,
    ) {
        exclusive_bounds(old, new);
        if let (Some(example), None) = (old.get("example"), new.get("examples")) {
            new.insert("examples".to_owned(), json!([example]));
        }
        // An object of named examples belongs to a parameter.
        if new.get("examples").is_some_and(|it| !it.is_array()) {
            new.shift_remove("examples");
        }
        if let Some(items) = new.get("items").filter(|it| it.is_array()).cloned() {
            new.shift_remove("items");
            new.insert("prefixItems".to_owned(), items);
        }
        let mut schema = Schema { members: new, tool, place, report };
        schema.sound_type();
        let keys: Vec<_> = schema.members.keys().cloned().collect();
        for key in keys {
            schema.sound_keyword(&key, self);
        }
        schema.fitting_enum();
        if [old.get("nullable"), old.get("x-nullable")].contains(&Some(&Value::Bool(true))) {
            make_nullable(new);
        }
    }

    /// Returns `true` if an engine compiles `pattern`.
    fn is_usable(&mut self, pattern: &str) -> bool {
        if let Some(known) = self.known.get(pattern) {
            return *known;
        }
        let options = jsonschema::options().offline().with_pattern_options(PatternOptions::fancy_regex());
        let is_usable = options.build(&json!({ "pattern": pattern })).is_ok();
        self.known.insert(pattern.to_owned(), is_usable);
        is_usable
    }
}

/// Replaces `exclusiveMinimum: true` beside `minimum`, and the same of the maximum.
fn exclusive_bounds(old: &Map<String, Value>, new: &mut Map<String, Value>) {
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        match old.get(exclusive) {
            Some(Value::Bool(true)) => {
                new.shift_remove(exclusive);
                if let Some(value) = new.shift_remove(bound) {
                    new.insert(exclusive.to_owned(), value);
                }
            }
            Some(Value::Bool(false)) => drop(new.shift_remove(exclusive)),
            _ => {}
        }
    }
}

impl Schema<'_> {
    fn warn(&mut self, key: &str, message: String) {
        self.report.warn(MALFORMED, self.tool, &self.place.at(key), message);
    }

    fn remove(&mut self, key: &str, expected: &str) {
        let Some(value) = self.members.shift_remove(key) else { return };
        let shown = match &value {
            Value::Array(_) | Value::Object(_) => kind(&value).to_owned(),
            scalar => format!("`{scalar}`"),
        };
        self.warn(key, format!("`{key}` is {expected}, not {shown}; it is ignored"));
    }

    /// Removes types that JSON Schema does not have.
    fn sound_type(&mut self) {
        const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];
        let is_known = |it: &Value| it.as_str().is_some_and(|it| TYPES.contains(&it));
        let expected = "one of the types of JSON Schema, or a list of them";
        match self.members.get_mut("type") {
            None => {}
            // The type of an uploaded file in Swagger 2.0.
            Some(Value::String(file)) if file == "file" => {
                self.members.insert("type".to_owned(), Value::from("string"));
                self.members.insert("format".to_owned(), Value::from("binary"));
            }
            Some(Value::Array(types)) if !types.is_empty() && types.iter().all(is_known) => {
                distinct(types);
            }
            Some(one) if is_known(one) => {}
            Some(_) => self.remove("type", expected),
        }
    }

    /// Removes or corrects a keyword whose value is none of its values.
    fn sound_keyword(&mut self, key: &str, patterns: &mut Patterns) {
        let Some(value) = self.members.get_mut(key) else { return };
        match key {
            "title" | "description" | "format" | "contentEncoding" | "contentMediaType"
                if !value.is_string() =>
            {
                self.remove(key, "a string");
            }
            "deprecated" | "uniqueItems" if !value.is_boolean() => self.remove(key, "a boolean"),
            "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum" | "multipleOf" => {
                if let Some(number) = value.as_str().and_then(|it| it.parse::<serde_json::Number>().ok()) {
                    *value = Value::Number(number);
                }
                if !value.is_number() || key == "multipleOf" && value.as_f64().is_none_or(|it| it <= 0.0) {
                    self.remove(key, if key == "multipleOf" { "a positive number" } else { "a number" });
                }
            }
            "maxLength" | "minLength" | "maxItems" | "minItems" | "maxContains" | "minContains"
            | "maxProperties" | "minProperties" => match count(value) {
                Some(count) => *value = Value::from(count),
                None => self.remove(key, "a number of at least 0"),
            },
            "pattern" if value.as_str().is_none_or(|it| !patterns.is_usable(it)) => {
                self.remove(key, "a regular expression");
            }
            "patternProperties" => {
                let Value::Object(all) = value else { return };
                let before = all.len();
                all.retain(|pattern, _| patterns.is_usable(pattern));
                if all.len() < before {
                    let message = "a key of `patternProperties` is not a regular expression; it is ignored";
                    self.warn(key, message.to_owned());
                }
            }
            "enum" if value.as_array().is_none_or(Vec::is_empty) => self.remove(key, "a list of values"),
            "required" => match value {
                Value::Array(names) => {
                    let before = names.len();
                    names.retain(Value::is_string);
                    let has_others = names.len() < before;
                    distinct(names);
                    if has_others {
                        self.warn(key, "a name in `required` is not a string; it is ignored".to_owned());
                    }
                }
                _ => self.remove(key, "a list of names"),
            },
            "dependentRequired" => {
                let are_names = |it: &mut Value| match it {
                    Value::Array(names) if names.iter().all(Value::is_string) => {
                        distinct(names);
                        true
                    }
                    _ => false,
                };
                if !value.as_object_mut().is_some_and(|it| it.values_mut().all(are_names)) {
                    self.remove(key, "an object of lists of names");
                }
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" if value.as_array().is_some_and(Vec::is_empty) => {
                self.remove(key, "a list of at least one schema");
            }
            _ => {}
        }
    }

    /// Gives the values of `enum` the type of the schema: YAML reads an unquoted `1.0` or `yes` as another type than the one that
    /// was meant.
    fn fitting_enum(&mut self) {
        let Some(Value::String(name)) = self.members.get("type").cloned() else { return };
        let Some(Value::Array(values)) = self.members.get_mut("enum") else { return };
        let fitting = |value: &Value| match (&*name, value) {
            ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
            ("integer" | "number", Value::String(text)) => {
                text.parse::<serde_json::Number>().ok().map(Value::Number)
            }
            ("boolean", Value::String(text)) => text.parse::<bool>().ok().map(Value::Bool),
            _ => None,
        };
        let mut changed = false;
        for value in values {
            if let Some(fitting) = fitting(value) {
                *value = fitting;
                changed = true;
            }
        }
        if changed {
            self.warn("enum", format!("the values of `enum` are read as of the type `{name}`"));
        }
    }
}

/// Removes repeated values.
fn distinct(values: &mut Vec<Value>) {
    let mut known = std::collections::HashSet::new();
    values.retain(|value| value.as_str().is_none_or(|it| known.insert(it.to_owned())));
}

/// A number of items, also one that is written as `3.0` or `"3"`.
fn count(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64().or_else(|| {
            let float = value.as_f64().filter(|it| it.fract() == 0.0)?;
            format!("{float:.0}").parse().ok()
        }),
    }
}

/// Accepts `null` beside what the schema accepts.
fn make_nullable(new: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = new.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    let is_composed = ["$ref", "allOf", "oneOf", "anyOf"].iter().any(|key| new.contains_key(*key));
    match new.get_mut("type") {
        Some(Value::String(one)) if one != "null" => {
            let both = json!([one, "null"]);
            new.insert("type".to_owned(), both);
        }
        Some(Value::Array(types)) if !types.iter().any(|it| it == "null") => types.push(Value::from("null")),
        Some(_) => {}
        // `nullable` beside `allOf` or `$ref`: commonly meant, though the specification asks for a type.
        None if is_composed => {
            let mut rest = std::mem::take(new);
            for key in ["title", "description", "default", "deprecated"] {
                if let Some(value) = rest.shift_remove(key) {
                    new.insert(key.to_owned(), value);
                }
            }
            new.insert("anyOf".to_owned(), json!([rest, { "type": "null" }]));
        }
        None => {}
    }
}
