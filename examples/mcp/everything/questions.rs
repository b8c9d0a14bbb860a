//! Questions to the client that a body waits for, up to revision 2025-11-25.

use tool_mcp::server::{Answer, Caller};
use tool_runtime::{prelude::*, serde_json::Map};

/// Asks the client's model.
#[tool]
async fn test_sampling(
    caller: &Caller,
    /// The prompt for the model.
    prompt: String,
) -> Result<String, ToolError> {
    let text = caller.require_sampling()?.text("prompt", &prompt, 100).await?;
    Ok(format!("LLM response: {text}"))
}

/// Asks the user.
#[tool]
async fn test_elicitation(
    caller: &Caller,
    /// The message to the user.
    message: String,
) -> Result<String, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    let answer = caller.require_elicitation()?.form("user", &message, schema).await?;
    Ok(format!("User response: {}", shown(answer)))
}

/// Asks the user with a form that has defaults.
#[tool]
async fn test_elicitation_sep1034_defaults(caller: &Caller) -> Result<String, ToolError> {
    let status = ["active", "inactive", "pending"];
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "User name", "default": "John Doe" },
            "age": { "type": "integer", "description": "User age", "default": 30 },
            "score": { "type": "number", "description": "User score", "default": 95.5 },
            "status": { "type": "string", "description": "User status", "enum": status, "default": "active" },
            "verified": { "type": "boolean", "description": "Verification status", "default": true },
        },
        "required": [],
    });
    let answer = caller.require_elicitation()?.form("user", "Check the form", schema).await?;
    Ok(format!("Elicitation completed: {}", shown(answer)))
}

/// Asks the user with a form of each kind of choice.
#[tool]
async fn test_elicitation_sep1330_enums(caller: &Caller) -> Result<String, ToolError> {
    let options = ["option1", "option2", "option3"];
    let titled = json!([
        { "const": "value1", "title": "First Option" },
        { "const": "value2", "title": "Second Option" },
        { "const": "value3", "title": "Third Option" },
    ]);
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } },
        },
        "required": [],
    });
    let answer = caller.require_elicitation()?.form("choice", "Choose", schema).await?;
    Ok(format!("Elicitation completed: {}", shown(answer)))
}

fn shown(answer: Answer<Map<String, Value>>) -> String {
    match answer {
        Answer::Accepted(form) => format!("action=accept, content={}", Value::Object(form)),
        Answer::Declined => "action=decline, content={}".to_owned(),
        Answer::Cancelled => "action=cancel, content={}".to_owned(),
    }
}
