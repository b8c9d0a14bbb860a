//! The resources of a call: the input of the prompt, and attachments.

use tool_runtime::{
    Content, ToolError,
    output::{Blob, Resource, ResourceBody},
    serde_json::{self, Value, json},
};

use crate::{catalogue::require_json_text, prompt::PromptDefinition};

/// Divides the resources of a call into the input of a prompt, which is valid, and the attachments.
///
/// # Errors
///
/// Returns an error of kind `BadParameter` if the input is no JSON, or does not fit.
pub(super) fn read_input(
    prompt: &PromptDefinition,
    resources: Vec<Resource>,
) -> Result<(Value, Vec<Content>), ToolError> {
    let mut resources = resources.into_iter();
    let input = match resources.next() {
        Some(first) => input_value(prompt, first)?,
        None if input_may_be(prompt, "object", true) => json!({}),
        None => Value::Null,
    };
    prompt.check_input(&input)?;
    Ok((input, resources.map(attachment_content).collect()))
}

/// Returns the value of the first resource: its JSON, or the text of one that is no JSON for an input that is a text.
fn input_value(prompt: &PromptDefinition, resource: Resource) -> Result<Value, ToolError> {
    let text = match &resource.body {
        ResourceBody::Text(text) if input_may_be(prompt, "string", false) => Some(text.clone()),
        _ => None,
    };
    match (require_json_text(resource), text) {
        (Ok(json), _) => serde_json::from_str(&json).map_err(|error| {
            let name = prompt.name();
            ToolError::bad_parameter(format!("the input of the prompt `{name}` is not valid JSON: {error}"))
        }),
        (Err(_), Some(text)) => Ok(Value::String(text)),
        (Err(error), None) => Err(error),
    }
}

/// Returns `true` if the input of a prompt may have a type; `if_untyped` if its schema states none.
fn input_may_be(prompt: &PromptDefinition, json_type: &str, if_untyped: bool) -> bool {
    match prompt.input().and_then(|schema| schema.get("type")) {
        None => if_untyped,
        Some(Value::Array(types)) => types.iter().any(|name| name == json_type),
        Some(name) => name == json_type,
    }
}

/// Returns a resource as content of a message. A text stays a document, which models receive as its URI and its text.
fn attachment_content(resource: Resource) -> Content {
    match resource {
        Resource { body: ResourceBody::Blob(Blob(data)), mime_type, .. }
            if mime_type.starts_with("image/") =>
        {
            Content::image(data, mime_type)
        }
        Resource { body: ResourceBody::Blob(Blob(data)), mime_type, .. }
            if mime_type.starts_with("audio/") =>
        {
            Content::audio(data, mime_type)
        }
        document => Content::Resource { resource: document },
    }
}
