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
