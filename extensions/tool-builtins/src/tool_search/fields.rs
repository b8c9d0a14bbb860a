//! The texts of a definition by which its tool is found.

use serde_json::{Map, Value};
use tool_runtime::ToolDefinition;

/// The number of fields.
pub(super) const FIELDS: usize = 5;

/// The maximum depth of a schema that is read.
const MAX_DEPTH: usize = 8;

/// The maximum number of schemas and values of a definition that are read.
const MAX_VALUES: usize = 2_000;

/// A part of a definition. Its number is its place in the arrays of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// The name, and the title.
    Name,
    Description,
    ParameterName,
    ParameterDescription,
    /// Allowed values, and examples.
    Value,
}

/// Passes the texts of `definition` to `receive`.
pub(super) fn for_each_text(definition: &ToolDefinition, receive: &mut dyn FnMut(Field, &str)) {
    let name = definition.name().as_str();
    receive(Field::Name, name);
    if definition.title() != name {
        receive(Field::Name, definition.title());
    }
    receive(Field::Description, definition.description());
    let mut reader = SchemaReader { receive, values: 0 };
    let (root, definitions) = definition.input_schema().root_and_shared();
    if let Some(root) = root.filter(|_| reader.count_and_has_room(0)) {
        reader.pass_keyword_texts(root, 0);
    }
    definitions.iter().for_each(|(_, definition)| reader.pass_schema_texts(definition, 1));
    for example in definition.examples() {
        reader.pass_value_texts(example, 0);
    }
}

struct SchemaReader<'r> {
    receive: &'r mut dyn FnMut(Field, &str),
    /// The number of schemas and values so far.
    values: usize,
}

impl SchemaReader<'_> {
    /// Returns `true` if another value may be read at this depth.
    fn count_and_has_room(&mut self, depth: usize) -> bool {
        self.values += 1;
        depth < MAX_DEPTH && self.values <= MAX_VALUES
    }

    fn pass_schema_texts(&mut self, schema: &Value, depth: usize) {
        if let Some(keywords) = schema.as_object().filter(|_| self.count_and_has_room(depth)) {
            self.pass_keyword_texts(keywords, depth);
        }
    }

    fn pass_keyword_texts(&mut self, keywords: &Map<String, Value>, depth: usize) {
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("properties" | "$defs" | "definitions", Value::Object(members)) => {
                    for (name, member) in members {
                        if keyword == "properties" {
                            (self.receive)(Field::ParameterName, name);
                        }
                        self.pass_schema_texts(member, depth + 1);
                    }
                }
                ("description" | "title", Value::String(text)) if depth > 0 => {
                    (self.receive)(Field::ParameterDescription, text);
                }
                ("enum" | "examples", Value::Array(values)) => {
                    values.iter().for_each(|value| self.pass_value_texts(value, depth + 1));
                }
                ("const" | "default" | "example", value) => self.pass_value_texts(value, depth + 1),
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                    schemas.iter().for_each(|schema| self.pass_schema_texts(schema, depth + 1));
                }
                ("items" | "additionalProperties", schema) => self.pass_schema_texts(schema, depth + 1),
                _ => {}
            }
        }
    }

    fn pass_value_texts(&mut self, value: &Value, depth: usize) {
        if !self.count_and_has_room(depth) {
            return;
        }
        match value {
            Value::String(text) => (self.receive)(Field::Value, text),
            Value::Array(items) => items.iter().for_each(|item| self.pass_value_texts(item, depth + 1)),
            Value::Object(members) => {
                members.values().for_each(|member| self.pass_value_texts(member, depth + 1))
            }
            _ => {}
        }
    }
}
