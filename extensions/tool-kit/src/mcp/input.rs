//! The input of a prompt out of the arguments of the protocol, which are texts.

use std::{collections::BTreeMap, sync::Arc};

use tool_runtime::{
    ToolError,
    serde_json::{self, Map, Value},
};

use super::INPUT_ARGUMENT;
use crate::prompt::PromptDefinition;

/// Reads the arguments of one prompt.
#[derive(Debug, Clone)]
pub(super) struct InputReader(Option<Arc<Value>>);

impl InputReader {
    pub(super) fn new(definition: &PromptDefinition) -> Self {
        Self(definition.input().cloned().map(Arc::new))
    }

    /// Returns the input of the arguments.
    pub(super) fn read(&self, arguments: BTreeMap<String, String>) -> Result<Value, ToolError> {
        let Some(schema) = self.0.as_deref().filter(|schema| !is_object(schema)) else {
            let property = |name: &str| self.0.as_deref()?.get("properties")?.get(name);
            let members = arguments.into_iter().map(|(name, text)| {
                let value = value_of(property(&name), &name, text)?;
                Ok((name, value))
            });
            return members.collect::<Result<Map<_, _>, ToolError>>().map(Value::Object);
        };
        let text = arguments.into_iter().find(|(name, _)| name == INPUT_ARGUMENT).map(|(_, text)| text);
        value_of(Some(schema), INPUT_ARGUMENT, text.unwrap_or_default())
    }
}

/// Returns `true` for the schema of an object.
pub(super) fn is_object(schema: &Value) -> bool {
    match schema.get("type") {
        Some(kind) => kind == "object",
        None => schema.get("properties").is_some(),
    }
}

/// Reads a text: as itself where the schema takes a text, and else as JSON.
fn value_of(schema: Option<&Value>, name: &str, text: String) -> Result<Value, ToolError> {
    if schema.is_none_or(takes_text) {
        return Ok(Value::String(text));
    }
    serde_json::from_str(&text).map_err(|error| {
        ToolError::bad_parameter(format!(
            "the argument `{name}` is read as JSON, and is none: {error}; write a text as \"text\""
        ))
    })
}

fn takes_text(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => {
            let values = schema.get("enum").and_then(Value::as_array);
            values.is_none_or(|values| values.iter().any(Value::is_string))
        }
    }
}

/// Returns the values that an argument may have and that begin with `text`.
pub(super) fn candidates_of(definition: &PromptDefinition, argument: &str, text: &str) -> Vec<String> {
    let Some(input) = definition.input() else { return Vec::new() };
    let schema = match is_object(input) {
        true => input.get("properties").and_then(|properties| properties.get(argument)),
        false => Some(input).filter(|_| argument == INPUT_ARGUMENT),
    };
    let Some(schema) = schema else { return Vec::new() };
    let spelled = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let values: Vec<String> = match schema.get("enum").and_then(Value::as_array) {
        Some(values) => values.iter().map(spelled).collect(),
        None if schema.get("type").is_some_and(|kind| kind == "boolean") => {
            vec!["true".to_owned(), "false".to_owned()]
        }
        None => Vec::new(),
    };
    values.into_iter().filter(|value| value.starts_with(text)).collect()
}
