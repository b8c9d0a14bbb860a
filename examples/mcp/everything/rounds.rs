//! Questions to the client that end a round of the call, from revision 2026-07-28 on. Bodies are written as those of
//! [`questions`](super::questions).

use tool_mcp::server::{Answer, Caller, Elicitation};
use tool_runtime::prelude::*;

/// Asks for a text; an empty text if the user does not give one.
async fn ask(user: Elicitation<'_>, name: &str, message: &str, field: &str) -> Result<String, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": { field: { "type": "string" } },
        "required": [field],
    });
    match user.form(name, message, schema).await? {
        Answer::Accepted(form) => Ok(form.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()),
        _ => Ok(String::new()),
    }
}

/// Asks for a name, and greets.
#[tool]
async fn test_input_required_result_elicitation(caller: &Caller) -> Result<String, ToolError> {
    let name = ask(caller.require_elicitation()?, "user_name", "What is your name?", "name").await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks the client's model.
#[tool]
async fn test_input_required_result_sampling(caller: &Caller) -> Result<String, ToolError> {
    caller.require_sampling()?.text("capital_question", "What is the capital of France?", 100).await
}

/// Lists the folders of the client.
#[tool]
async fn test_input_required_result_list_roots(caller: &Caller) -> Result<Vec<String>, ToolError> {
    let roots = caller.require_roots()?.list("client_roots").await?;
    Ok(roots.into_iter().map(|root| root.uri).collect())
}

/// Asks for a confirmation. The state of the call returns with the answer.
#[tool]
async fn test_input_required_result_request_state(caller: &Caller) -> Result<&'static str, ToolError> {
    confirm(caller).await?;
    Ok("state-ok")
}

/// Asks for a confirmation. A state that the client changed is refused.
#[tool]
async fn test_input_required_result_tampered_state(caller: &Caller) -> Result<&'static str, ToolError> {
    confirm(caller).await?;
    Ok("state-ok")
}

async fn confirm(caller: &Caller) -> Result<(), ToolError> {
    let schema = json!({
        "type": "object",
        "properties": { "ok": { "type": "boolean" } },
        "required": ["ok"],
    });
    caller.require_elicitation()?.form("confirm", "Please confirm", schema).await?;
    Ok(())
}

/// Asks the user, the model and the folders of the client at once.
#[tool]
async fn test_input_required_result_multiple_inputs(caller: &Caller) -> Result<String, ToolError> {
    let (user, model, folders) =
        (caller.require_elicitation()?, caller.require_sampling()?, caller.require_roots()?);
    let (name, greeting, roots) = tokio::try_join!(
        ask(user, "user_name", "What is your name?", "name"),
        model.text("greeting", "Generate a greeting", 50),
        folders.list("client_roots"),
    )?;
    let roots: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
    Ok(format!("{greeting}, {name}, in {}", roots.join(", ")))
}

/// Asks for a name, and then for a color.
#[tool]
async fn test_input_required_result_multi_round(caller: &Caller) -> Result<String, ToolError> {
    let user = caller.require_elicitation()?;
    let name = ask(user, "step1", "Step 1: What is your name?", "name").await?;
    let color = ask(user, "step2", "Step 2: What is your favorite color?", "color").await?;
    Ok(format!("{name} likes {color}"))
}

/// Asks by the means that the client has.
#[tool]
async fn test_input_required_result_capabilities(caller: &Caller) -> Result<String, ToolError> {
    if let Some(model) = caller.sampling() {
        return model.text("greeting", "Generate a greeting", 50).await;
    }
    if let Some(user) = caller.elicitation() {
        return ask(user, "user_name", "What is your name?", "name").await;
    }
    Ok("The client answers no questions.".to_owned())
}

/// Needs a client with a model.
#[tool]
async fn test_missing_capability(caller: &Caller) -> Result<String, ToolError> {
    caller.require_sampling()?.text("greeting", "Generate a greeting", 50).await
}

/// Asks the user during a call whose answer is a stream.
#[tool]
async fn test_streaming_elicitation(caller: &Caller) -> Result<String, ToolError> {
    ask(caller.require_elicitation()?, "user_name", "What is your name?", "name").await
}
