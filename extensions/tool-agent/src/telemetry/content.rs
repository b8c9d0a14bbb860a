//! Messages and tools in the JSON of OpenTelemetry's conventions, without secret arguments.

use serde_json::{Map, Value, json};
use tool_runtime::{Content, Registry, ToolCall};

use crate::{Message, Part, Role};

/// Returns an instruction.
pub(super) fn instructions_json(text: &str) -> String {
    json!([{ "type": "text", "content": text }]).to_string()
}

/// Returns the tools.
pub(super) fn tool_definitions_json(tools: &Registry) -> String {
    let definition = |it: &tool_runtime::ToolDefinition| {
        json!({
            "type": "function",
            "name": it.name(),
            "description": it.description(),
            "parameters": it.input_schema(),
        })
    };
    Value::from_iter(tools.definitions().iter().map(definition)).to_string()
}

/// Returns the messages of a request.
pub(crate) fn request_messages_json(messages: &[Message], tools: Option<&Registry>) -> String {
    Value::from_iter(messages.iter().map(|it| Value::Object(message_object(it, tools)))).to_string()
}

/// Returns the message of a response.
pub(crate) fn response_message_json(
    response: &Message,
    tools: Option<&Registry>,
    finish_reason: Option<&str>,
) -> String {
    let mut written = message_object(response, tools);
    if let Some(reason) = finish_reason {
        written.insert("finish_reason".to_owned(), reason.into());
    }
    Value::from(vec![Value::Object(written)]).to_string()
}

fn message_object(message: &Message, tools: Option<&Registry>) -> Map<String, Value> {
    let role = match message.role() {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let parts = message.parts().iter().map(|it| part_object(it, tools));
    Map::from_iter([("role".to_owned(), role.into()), ("parts".to_owned(), parts.collect())])
}

fn part_object(part: &Part, tools: Option<&Registry>) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "content": text }),
        Part::Reasoning(text) => json!({ "type": "reasoning", "content": text }),
        Part::Content(Content::Text { text }) => json!({ "type": "text", "content": text }),
        // Bytes are not text.
        Part::Content(_) => json!({ "type": "blob" }),
        Part::Call(call) => {
            let mut part = json!({ "type": "tool_call", "id": call.id, "name": call.name });
            if let Some(arguments) = redacted_arguments(call, tools) {
                part["arguments"] = arguments;
            }
            part
        }
        Part::Result(result) => {
            json!({ "type": "tool_call_response", "id": result.id, "response": result.text() })
        }
    }
}

/// Returns the arguments without secrets; `None` if the tool is unknown or redirects, whose secrets are unknown too.
fn redacted_arguments(call: &ToolCall, tools: Option<&Registry>) -> Option<Value> {
    let tools = tools.filter(|tools| !tools.has_unidentified_secret(&call.name))?;
    let arguments = tools.get(&call.name)?.definition().redacted(&call.arguments);
    Some(serde_json::from_str(arguments.as_str()).unwrap_or_else(|_| arguments.as_str().into()))
}
