//! Keywords of earlier versions, and values that a keyword cannot have.
//!
//! Values are read as those of any foreign schema, by [`OutputSchema::from_foreign`]: null is an absent keyword, and a keyword that cannot
//! be read is ignored with a warning; its schema then accepts more, and the server has the last word. Here is what documents have beside:
//! keywords of OpenAPI, and the types that YAML reads.

use std::collections::HashMap;

use jsonschema::PatternOptions;
use serde_json::{Map, Value, json};
use tool_runtime::schema::OutputSchema;

use super::{DocumentPlace, ImportReport, KeywordKind, MALFORMED, keyword_kind, kind_name};

/// The patterns of a document, and whether any engine compiles them.
#[derive(Default)]
pub(super) struct CompiledPatterns {
    known: HashMap<String, bool>,
}

/// A schema that is translated.
struct TranslatedSchema<'s> {
    members: &'s mut Map<String, Value>,
    tool: &'s str,
    place: &'s DocumentPlace,
    report: &'s mut ImportReport,
}

impl CompiledPatterns {
    /// Replaces keywords of earlier versions: `nullable`, boolean exclusive bounds, `example`, `items` as a list. They are also
    /// found in documents that claim to be of a later version. Then leaves out what no validator can use.
    pub(super) fn modernize_schema(
        &mut self,
        old: &Map<String, Value>,
        new: &mut Map<String, Value>,
        tool: &str,
        place: &DocumentPlace,
        report: &mut ImportReport,
    ) {
        convert_exclusive_bounds(old, new);
        let example = old.get("example").filter(|it| !it.is_null());
        if let (Some(example), None) = (example, new.get("examples")) {
            new.insert("examples".to_owned(), json!([example]));
        }
        // An object of named examples belongs to a parameter.
        if new.get("examples").is_some_and(|it| !it.is_array()) {
            new.shift_remove("examples");
        }
        if !new.contains_key("prefixItems")
            && let Some(Value::Array(items)) = new.get("items").filter(|it| it.is_array()).cloned()
        {
            new.shift_remove("items");
            if !items.is_empty() {
                new.insert("prefixItems".to_owned(), items.into());
            }
        }
        let mut schema = TranslatedSchema { members: new, tool, place, report };
        schema.convert_yaml_types();
        schema.remove_unreadable_values();
        schema.remove_unusable_patterns(self);
        schema.normalize_as_foreign();
        schema.convert_enum_to_declared_type();
        if [old.get("nullable"), old.get("x-nullable")].contains(&Some(&Value::Bool(true))) {
            make_nullable(new);
        }
    }

    /// Returns `true` if an engine compiles `pattern`.
    fn can_compile(&mut self, pattern: &str) -> bool {
        if let Some(known) = self.known.get(pattern) {
            return *known;
        }
        let options = jsonschema::options().offline().with_pattern_options(PatternOptions::fancy_regex());
        let can_compile = options.build(&json!({ "pattern": pattern })).is_ok();
        self.known.insert(pattern.to_owned(), can_compile);
        can_compile
    }
}

/// Replaces `exclusiveMinimum: true` beside `minimum`, and the same of the maximum.
fn convert_exclusive_bounds(old: &Map<String, Value>, new: &mut Map<String, Value>) {
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

impl TranslatedSchema<'_> {
    fn warn_of_keyword(&mut self, key: &str, message: String) {
        self.report.warn(MALFORMED, self.tool, &self.place.at(key), message);
    }

    fn remove_keyword_with_warning(&mut self, key: &str, expected: &str) {
        let Some(value) = self.members.shift_remove(key).filter(|it| !it.is_null()) else { return };
        let shown = match &value {
            Value::Array(_) | Value::Object(_) => kind_name(&value).to_owned(),
            scalar => format!("`{scalar}`"),
        };
        self.warn_of_keyword(key, format!("`{key}` is {expected}, not {shown}; it is ignored"));
    }

    /// Reads values of another type than the one that was meant: YAML reads an unquoted `null` as no text, and a quoted `3` as one.
    fn convert_yaml_types(&mut self) {
        match self.members.get_mut("type") {
            // The type of an uploaded file in Swagger 2.0.
            Some(Value::String(file)) if file == "file" => {
                self.members.insert("type".to_owned(), Value::from("string"));
                self.members.insert("format".to_owned(), Value::from("binary"));
            }
            Some(Value::Array(types)) => {
                types.iter_mut().filter(|it| it.is_null()).for_each(|it| *it = Value::from("null"));
                remove_repeated_strings(types);
            }
            _ => {}
        }
        for (key, value) in self.members.iter_mut() {
            match &**key {
                "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum" | "multipleOf" => {
                    let number = value.as_str().and_then(|it| it.trim().parse::<serde_json::Number>().ok());
                    if let Some(number) = number {
                        *value = Value::Number(number);
                    }
                }
                "maxLength" | "minLength" | "maxItems" | "minItems" | "maxContains" | "minContains"
                | "maxProperties" | "minProperties" => {
                    if let Some(count) = parse_item_count(value) {
                        *value = Value::from(count);
                    }
                }
                "required" => {
                    if let Value::Array(names) = value {
                        remove_repeated_strings(names);
                    }
                }
                _ => {}
            }
        }
    }

    /// Removes what validators do not read, or read as a schema without values, and providers refuse.
    fn remove_unreadable_values(&mut self) {
        for key in ["title", "description", "format", "contentEncoding", "contentMediaType"] {
            if self.members.get(key).is_some_and(|it| !it.is_string()) {
                self.remove_keyword_with_warning(key, "a string");
            }
        }
        if self.members.get("deprecated").is_some_and(|it| !it.is_boolean()) {
            self.remove_keyword_with_warning("deprecated", "a boolean");
        }
        // It would accept nothing.
        if self.members.get("enum").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            self.remove_keyword_with_warning("enum", "a list of values");
        }
    }

    fn remove_unusable_patterns(&mut self, patterns: &mut CompiledPatterns) {
        if let Some(pattern) = self.members.get("pattern")
            && !pattern.as_str().is_some_and(|it| patterns.can_compile(it))
        {
            self.remove_keyword_with_warning("pattern", "a regular expression");
        }
        if let Some(Value::Object(all)) = self.members.get_mut("patternProperties") {
            let before = all.len();
            all.retain(|pattern, _| patterns.can_compile(pattern));
            if all.len() < before {
                let message = "a key of `patternProperties` is not a regular expression; it is ignored";
                self.warn_of_keyword("patternProperties", message.to_owned());
            }
        }
    }

    /// Reads the keywords as those of any foreign schema. The schemas below this one were translated before.
    fn normalize_as_foreign(&mut self) {
        let Some(outline) = keyword_outline(self.members) else { return };
        let Ok((read, problems)) = OutputSchema::from_foreign(outline.clone()) else { return };
        for problem in problems {
            let key = problem.keyword.as_deref().unwrap_or_default();
            self.warn_of_keyword(key, problem.message);
        }
        let Value::Object(outline) = outline else { return };
        for (key, value) in outline {
            match read.as_value().get(&key) {
                Some(same) if *same == value => {}
                Some(other) => {
                    if let Some(member) = self.members.get_mut(&key) {
                        *member = other.clone();
                    }
                }
                None => drop(self.members.shift_remove(&key)),
            }
        }
    }

    /// Gives the values of `enum` the type of the schema: YAML reads an unquoted `1.0` or `yes` as another type than the one that
    /// was meant.
    fn convert_enum_to_declared_type(&mut self) {
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
            self.warn_of_keyword("enum", format!("the values of `enum` are read as of the type `{name}`"));
        }
    }
}

/// Returns the keywords that need to be read, with placeholders for values that cannot be wrong; `None` if there are none.
fn keyword_outline(members: &Map<String, Value>) -> Option<Value> {
    const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];
    let mut outline = Map::new();
    for (key, value) in members {
        let placeholder = match (keyword_kind(key), value) {
            (KeywordKind::List, Value::Array(schemas)) => {
                vec![Value::Bool(true); schemas.len().min(1)].into()
            }
            // As `$ref`.
            (KeywordKind::Schema | KeywordKind::Map | KeywordKind::List | KeywordKind::Dropped, _) => {
                continue;
            }
            (KeywordKind::Plain, value) => match (&**key, value) {
                ("title" | "description" | "default" | "examples" | "deprecated" | "const", _) => continue,
                ("format" | "pattern" | "contentEncoding" | "contentMediaType", _) => continue,
                ("type", Value::String(name)) if TYPES.contains(&&**name) => continue,
                ("enum", Value::Array(_)) => continue,
                (_, value) => value.clone(),
            },
        };
        outline.insert(key.clone(), placeholder);
    }
    (!outline.is_empty()).then_some(Value::Object(outline))
}

/// Removes repeated values.
fn remove_repeated_strings(values: &mut Vec<Value>) {
    let mut known = std::collections::HashSet::new();
    values.retain(|value| value.as_str().is_none_or(|it| known.insert(it.to_owned())));
}

/// A number of items, also one that is written as `3.0` or `"3"`.
fn parse_item_count(value: &Value) -> Option<u64> {
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
    if let Some(constant) = new.shift_remove("const") {
        new.entry("enum").or_insert_with(|| json!([constant]));
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_items_is_read_in_each_of_its_spellings() {
        for (value, count) in [
            (json!(3), Some(3)),
            (json!(3.0), Some(3)),
            (json!("3"), Some(3)),
            (json!(0), Some(0)),
            (json!(3.5), None),
            (json!(-1), None),
            (json!(-1.0), None),
            (json!("3.0"), None),
            (json!(null), None),
            (json!([3]), None),
        ] {
            assert_eq!(parse_item_count(&value), count, "{value}");
        }
    }

    #[test]
    fn only_texts_that_are_repeated_are_removed() {
        let mut values =
            vec![json!("a"), json!(1), json!("b"), json!("a"), json!(1), json!(null), json!(null)];
        remove_repeated_strings(&mut values);
        assert_eq!(values, [json!("a"), json!(1), json!("b"), json!(1), json!(null), json!(null)]);
    }

    #[test]
    fn a_constant_of_a_nullable_schema_is_one_of_two() {
        for (schema, expected) in [
            (json!({ "const": 1 }), json!({ "enum": [1, null] })),
            (json!({ "const": null }), json!({ "enum": [null] })),
            (json!({ "const": 1, "enum": [2] }), json!({ "enum": [2, null] })),
            (
                json!({ "type": "integer", "const": 1 }),
                json!({ "type": ["integer", "null"], "enum": [1, null] }),
            ),
            (json!({ "title": "It" }), json!({ "title": "It" })),
            (
                json!({ "$ref": "#/$defs/A" }),
                json!({ "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }] }),
            ),
            (json!({ "allOf": [] }), json!({ "anyOf": [{ "allOf": [] }, { "type": "null" }] })),
            (json!({ "anyOf": [] }), json!({ "anyOf": [{ "anyOf": [] }, { "type": "null" }] })),
        ] {
            let mut members = schema.as_object().unwrap().clone();
            make_nullable(&mut members);
            assert_eq!(Value::Object(members), expected, "{schema}");
        }
    }
}
