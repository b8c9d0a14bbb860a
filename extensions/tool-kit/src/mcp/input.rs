//! The input of a prompt out of the arguments of the protocol, which are texts.

use std::{collections::BTreeMap, sync::Arc};

use tool_runtime::serde_json::{self, Map, Value};
use tool_schema::Validator;

use super::INPUT_ARGUMENT;
use crate::{
    candidates::{candidates_of_property, candidates_of_schema},
    prompt::PromptDefinition,
};

/// The members of a schema that its properties may refer to.
const DEFINITION_KEYWORDS: [&str; 2] = ["$defs", "definitions"];

/// Reads the arguments of one prompt.
#[derive(Clone)]
pub(super) enum InputReader {
    /// The members of an object, by name.
    Members(Arc<BTreeMap<String, ArgumentReader>>),
    /// The one argument of an input of another type.
    Whole(Arc<ArgumentReader>),
}

/// Reads one argument.
pub(super) enum ArgumentReader {
    /// Each text is a value.
    Text,
    /// A text is a value if it fits, and else the JSON of one.
    TextOrJson(Validator),
}

impl InputReader {
    pub(super) fn new(definition: &PromptDefinition) -> Self {
        let Some(schema) = definition.input() else { return Self::Members(Arc::default()) };
        if !takes_arguments_as_members(definition) {
            return Self::Whole(Arc::new(ArgumentReader::new(schema.clone())));
        }
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let readers = properties.map(|(name, property)| {
            (name.clone(), ArgumentReader::new(with_definitions_of_object(property.clone(), schema)))
        });
        Self::Members(Arc::new(readers.collect()))
    }

    /// Returns the input of the arguments. It is not validated.
    pub(super) fn read(&self, arguments: BTreeMap<String, String>) -> Value {
        match self {
            Self::Members(readers) => {
                let members = arguments.into_iter().map(|(name, text)| {
                    let value = readers.get(&name).unwrap_or(&ArgumentReader::Text).read(text);
                    (name, value)
                });
                Value::Object(members.collect())
            }
            Self::Whole(reader) => {
                let text =
                    arguments.into_iter().find(|(name, _)| name == INPUT_ARGUMENT).map(|(_, text)| text);
                reader.read(text.unwrap_or_default())
            }
        }
    }
}

impl ArgumentReader {
    fn new(schema: Value) -> Self {
        if schema.get("type").is_some_and(|kind| kind == "string") {
            return Self::Text;
        }
        // One that refers to what it has not is checked with the whole input.
        Validator::compile(&schema).map_or(Self::Text, Self::TextOrJson)
    }

    fn read(&self, text: String) -> Value {
        let Self::TextOrJson(validator) = self else { return Value::String(text) };
        let text = Value::String(text);
        if validator.violations(&text).is_empty() {
            return text;
        }
        // The violations of a value that does not fit name what is expected.
        let value = text.as_str().and_then(|text| serde_json::from_str(text).ok());
        value.unwrap_or(text)
    }
}

/// Returns a property with the definitions of its object.
fn with_definitions_of_object(property: Value, object: &Value) -> Value {
    let definitions = DEFINITION_KEYWORDS.iter().filter_map(|keyword| {
        object.get(*keyword).map(|definitions| ((*keyword).to_owned(), definitions.clone()))
    });
    let mut whole: Map<String, Value> = definitions.collect();
    if whole.is_empty() {
        return property;
    }
    whole.insert("allOf".to_owned(), Value::Array(vec![property]));
    Value::Object(whole)
}

/// Returns `true` if the members of the input are the arguments.
pub(super) fn takes_arguments_as_members(definition: &PromptDefinition) -> bool {
    let is_typed = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "object");
    !definition.arguments().is_empty() || definition.input().is_some_and(is_typed)
}

/// Returns the values that an argument may have and that begin with `text`.
pub(super) fn candidates_of(definition: &PromptDefinition, argument: &str, text: &str) -> Vec<String> {
    match definition.input() {
        Some(input) if takes_arguments_as_members(definition) => {
            candidates_of_property(input, argument, text)
        }
        Some(input) if argument == INPUT_ARGUMENT => candidates_of_schema(input, input, text),
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::serde_json::json;

    use super::*;

    fn definition(input: Value) -> PromptDefinition {
        PromptDefinition::new("greet").unwrap().with_input(input).unwrap()
    }

    fn read(definition: &PromptDefinition, arguments: &[(&str, &str)]) -> Value {
        let owned = arguments.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        InputReader::new(definition).read(owned.collect())
    }

    #[test]
    fn the_members_of_an_object_are_read_by_their_schemas() {
        let object = definition(json!({
            "type": "object",
            "properties": {
                "text": { "type": "string" },
                "count": { "type": "integer" },
                "list": { "$ref": "#/$defs/List" },
                "style": { "enum": ["1", "2"] },
            },
            "$defs": { "List": { "type": "array" } },
        }));
        let arguments = [("text", "1"), ("count", "1"), ("list", "[1]"), ("style", "1"), ("other", "1")];
        let expected = json!({ "count": 1, "list": [1], "other": "1", "style": "1", "text": "1" });
        assert_eq!(read(&object, &arguments), expected);
        // What is no JSON stays a text, whose violations name what is expected.
        assert_eq!(read(&object, &[("count", "one")]), json!({ "count": "one" }));
        assert_eq!(read(&object, &[]), json!({}));
        assert!(takes_arguments_as_members(&object));
    }

    #[test]
    fn another_input_is_the_one_argument() {
        let integer = definition(json!({ "type": "integer" }));
        assert!(!takes_arguments_as_members(&integer));
        assert_eq!(read(&integer, &[("input", "7"), ("other", "8")]), json!(7));
        assert_eq!(read(&integer, &[("other", "8")]), json!(""));
        assert_eq!(read(&definition(json!({ "type": "string" })), &[("input", "7")]), json!("7"));
        // One without an input has its arguments as members.
        let plain = PromptDefinition::new("greet").unwrap();
        assert_eq!(read(&plain, &[("a", "1")]), json!({ "a": "1" }));
        assert!(takes_arguments_as_members(&definition(json!({ "type": "object" }))));
    }

    #[test]
    fn candidates_are_those_of_the_argument() {
        let flag = json!({ "type": "boolean" });
        let object = definition(json!({ "type": "object", "properties": { "input": flag, "flag": flag } }));
        assert_eq!(candidates_of(&object, "flag", "t"), ["true"]);
        assert_eq!(candidates_of(&object, "other", ""), [""; 0]);
        let whole = definition(flag);
        assert_eq!(candidates_of(&whole, "input", ""), ["true", "false"]);
        assert_eq!(candidates_of(&whole, "flag", ""), [""; 0]);
        assert_eq!(candidates_of(&PromptDefinition::new("greet").unwrap(), "input", ""), [""; 0]);
    }
}
