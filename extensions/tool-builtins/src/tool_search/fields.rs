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
    if let Some(root) = root {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;
    use tool_runtime::{ToolName, schema::InputSchema};

    use super::*;

    fn definition_of(schema: Value) -> ToolDefinition {
        let name = ToolName::new("send_parcel").unwrap();
        ToolDefinition::new(name, "Sends a parcel.", InputSchema::new(schema).unwrap())
    }

    /// Returns the texts of a definition with their fields, sorted.
    fn texts_of(definition: &ToolDefinition) -> Vec<String> {
        let mut texts = Vec::new();
        for_each_text(definition, &mut |field, text| texts.push(format!("{field:?}: {text}")));
        texts.sort();
        texts
    }

    #[test]
    fn each_text_of_a_definition_is_of_one_field() {
        let schema = json!({
            "title": "Arguments", "description": "The arguments.", "type": "object", "required": ["city"],
            "properties": {
                "city": { "title": "City", "description": "Where it goes.", "default": "Lisbon", "minLength": 1 },
                "speed": { "enum": ["overnight", "economy", 3, null] },
                "label": { "anyOf": [{ "const": "none" }, { "$ref": "#/$defs/Label" }] },
                "stops": { "type": "array", "items": { "properties": { "stop": { "example": "Porto" } } } },
                "pair": { "prefixItems": [{ "description": "The first." }], "examples": [["left", { "k": "right" }]] },
                "one": { "oneOf": [{ "description": "Either." }], "allOf": [{ "description": "Both." }] },
                "notes": { "additionalProperties": { "description": "A note." } },
            },
            "$defs": { "Label": { "properties": { "colour": { "description": "Of the label." } } } },
            "definitions": { "Old": { "description": "Not used." } },
            "examples": [{ "city": "Faro" }],
        });
        let mut expected = [
            "Name: send_parcel",
            "Name: Courier",
            "Description: Sends a parcel.",
            "ParameterDescription: City",
            "ParameterDescription: Where it goes.",
            "ParameterDescription: The first.",
            "ParameterDescription: Either.",
            "ParameterDescription: Both.",
            "ParameterDescription: A note.",
            "ParameterDescription: Of the label.",
            "ParameterDescription: Not used.",
            "Value: Lisbon",
            "Value: overnight",
            "Value: economy",
            "Value: none",
            "Value: Porto",
            "Value: left",
            "Value: right",
            "Value: Faro",
            "Value: Braga",
        ]
        .map(str::to_owned)
        .to_vec();
        let parameters = ["city", "speed", "label", "stops", "stop", "pair", "one", "notes", "colour"];
        expected.extend(parameters.map(|name| format!("ParameterName: {name}")));
        expected.sort();
        let definition = definition_of(schema).with_examples(vec![json!({ "city": "Braga", "speed": 2 })]);
        assert_eq!(texts_of(&definition.with_title("Courier")), expected);
        let without_parameters = ["Description: Sends a parcel.", "Name: send_parcel"];
        assert_eq!(texts_of(&definition_of(json!({ "type": "object" }))), without_parameters);
    }

    #[test]
    fn a_hostile_schema_is_read_to_a_depth_of_8_and_for_2000_values() {
        let deep = |keyword: &str| {
            let wrap = |inner: Value, depth: usize| match keyword {
                "properties" => json!({ "properties": { depth.to_string(): inner } }),
                "items" => json!({ "description": depth.to_string(), "items": inner }),
                _ => json!({ keyword: [{ "description": depth.to_string() }, inner] }),
            };
            let texts = texts_of(&definition_of((0..20).rev().fold(json!({}), wrap)));
            texts.iter().filter(|text| text.starts_with("Parameter")).count()
        };
        assert_eq!((deep("properties"), deep("items"), deep("anyOf")), (8, 7, 7));
        let nested = (0..3).fold(json!("x"), |inner, _| json!([{ "k": inner }]));
        let has_value = |schema: Value| texts_of(&definition_of(schema)).contains(&"Value: x".to_owned());
        assert!(has_value(json!({ "const": nested })) && !has_value(json!({ "const": [nested] })));
        assert!(has_value(json!({ "enum": [nested] })) && !has_value(json!({ "enum": [[nested]] })));
        let wide = definition_of(json!({ "enum": vec!["x"; 3_000] }));
        assert_eq!(texts_of(&wide).iter().filter(|text| *text == "Value: x").count(), 2_000);
    }
}
