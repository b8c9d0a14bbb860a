//! Look-ups in a schema, and summaries of its parts.

use std::slice;

use jsonschema::{JsonType, ValidationError};
use serde_json::{Map, Value};

use super::{ANYTHING, ErrorDescriber, join_distinct, types_with_articles};
use crate::{arguments::plan::messages::one_of, pointer::percent_decoded};

/// Look-ups in the schema. Parts with their own identifiers are not resolved.
impl ErrorDescriber<'_> {
    /// Returns the value of the failed keyword.
    pub(super) fn keyword_value(&self, error: &ValidationError<'_>) -> Option<&Value> {
        self.schema_at_pointer(error, error.schema_path().as_str())
    }

    /// Returns the schema that contains the failed keyword.
    pub(super) fn enclosing_schema(&self, error: &ValidationError<'_>) -> Option<&Value> {
        self.schema_at_pointer(error, error.schema_path().as_str().rsplit_once('/')?.0)
    }

    pub(super) fn schema_at_pointer(&self, error: &ValidationError<'_>, pointer: &str) -> Option<&Value> {
        let base = error.absolute_keyword_location().map(|it| it.as_str());
        let base = base.map(|it| it.split_once('#').map_or(it, |(base, _)| base));
        let own = self.schema.get("$id").or_else(|| self.schema.get("id")).and_then(Value::as_str);
        let is_own = base.is_none() || base == own.map(|it| it.trim_end_matches('#'));
        self.schema.pointer(pointer).filter(|_| is_own)
    }

    /// Returns the properties beside the keyword of `error`.
    pub(super) fn known_properties(&self, error: &ValidationError<'_>) -> Vec<&str> {
        let properties = self.enclosing_schema(error).and_then(|it| it.get("properties")?.as_object());
        properties.into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }

    /// Summarizes a schema.
    pub(super) fn schema_summary(&self, schema: &Value, levels: usize) -> String {
        let Some(levels) = levels.checked_sub(1) else { return ANYTHING.to_owned() };
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return one_of(values, None);
        }
        if let Some(value) = schema.get("const") {
            return one_of(slice::from_ref(value), None);
        }
        if let Some(pointer) = schema.get("$ref").and_then(|it| it.as_str()?.strip_prefix('#')) {
            let target = self.schema.pointer(&percent_decoded(pointer));
            return target.map_or_else(|| ANYTHING.to_owned(), |target| self.schema_summary(target, levels));
        }
        let named = |name: &Value| name.as_str()?.parse::<JsonType>().ok();
        match schema.get("type") {
            Some(name) if name == "object" => self.object_summary(schema),
            Some(Value::Array(names)) => {
                types_with_articles(&names.iter().filter_map(named).collect::<Vec<_>>())
            }
            Some(name) => types_with_articles(&named(name).into_iter().collect::<Vec<_>>()),
            None => {
                let branches = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
                let brief = |it: &Value| self.schema_summary(it, levels);
                let all =
                    branches.map(|all| format!("any of: {}", join_distinct(all.iter().map(brief).collect())));
                all.unwrap_or_else(|| ANYTHING.to_owned())
            }
        }
    }

    /// Summarizes an object by its required properties; a constant among them identifies it.
    pub(super) fn object_summary(&self, schema: &Value) -> String {
        let names = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let names = names.iter().filter_map(Value::as_str).take(4);
        let shown: Vec<_> = names
            .map(|name| match schema.get("properties").and_then(|it| it.get(name)?.get("const")) {
                Some(only) => format!("`{name}` {}", one_of(slice::from_ref(only), None)),
                None => format!("`{name}`"),
            })
            .collect();
        if shown.is_empty() { "an object".to_owned() } else { format!("an object with {}", shown.join(", ")) }
    }
}
