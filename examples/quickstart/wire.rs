//! Between the registry and the JSON of a chat-completions API.

use tool_runtime::{
    Registry, ToolDefinition, ToolError, ToolOutput,
    serde::Deserialize,
    serde_json::{self, Value, json},
};

/// What the API needs to know of each tool: the `tools` of a request.
pub(crate) fn definitions(tools: &Registry) -> Vec<Value> {
    let definition = |tool: &ToolDefinition| {
        json!({
            "type": "function",
            "function": {
                "name": tool.name(),
                "description": tool.description(),
                "parameters": tool.input_schema(),
            },
        })
    };
    tools.definitions().iter().map(definition).collect()
}

#[derive(Deserialize)]
#[serde(crate = "tool_runtime::serde")]
struct Response {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
#[serde(crate = "tool_runtime::serde")]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
#[serde(crate = "tool_runtime::serde")]
struct Message {
    // Absent or `null` where the model answers in words.
    tool_calls: Option<Vec<ToolCall>>,
}

/// One call that the model asks for.
#[derive(Deserialize)]
#[serde(crate = "tool_runtime::serde")]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) function: Function,
}

#[derive(Deserialize)]
#[serde(crate = "tool_runtime::serde")]
pub(crate) struct Function {
    pub(crate) name: String,
    /// JSON, as a text: it is passed on as it is.
    pub(crate) arguments: String,
}

/// The calls of a response's first choice, in order.
pub(crate) fn tool_calls(response: &str) -> serde_json::Result<Vec<ToolCall>> {
    let response: Response = serde_json::from_str(response)?;
    let first = response.choices.into_iter().next();
    Ok(first.and_then(|choice| choice.message.tool_calls).unwrap_or_default())
}

/// The message that answers the call `id`.
///
/// The API wants one for every call, and an error is an answer too: its feedback is written for the
/// model, which can then do better.
pub(crate) fn tool_message(id: &str, result: &Result<ToolOutput, ToolError>) -> Value {
    let content = match result {
        Ok(output) => output.text().into_owned(),
        Err(error) => error.feedback(),
    };
    json!({ "role": "tool", "tool_call_id": id, "content": content })
}
