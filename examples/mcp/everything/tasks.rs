//! Tools that take time: tasks for clients that know them.

use std::time::Duration;

use tokio::time::sleep;
use tool_mcp::server::{Answer, Caller};
use tool_runtime::prelude::*;

/// The time of a job.
const JOB: Duration = Duration::from_secs(1);

/// Greets at once.
#[tool(read_only)]
fn greet(
    /// Name of the person.
    name: Option<String>,
) -> String {
    format!("Hello, {}!", name.as_deref().unwrap_or("World"))
}

/// Computes for some time.
#[tool(long_running)]
async fn slow_compute(
    cx: &ToolContext,
    /// The time in seconds.
    seconds: Option<f64>,
    /// A label of the computation.
    label: Option<String>,
) -> Result<String, ToolError> {
    let time = Duration::try_from_secs_f64(seconds.unwrap_or(1.0)).unwrap_or(JOB);
    tokio::select! {
        () = sleep(time) => Ok(format!("{} is computed", label.as_deref().unwrap_or("the value"))),
        () = cx.cancellation().cancelled() => Err(ToolError::cancelled()),
    }
}

/// Fails after some time.
#[tool(long_running)]
async fn failing_job() -> Result<String, ToolError> {
    sleep(JOB).await;
    Err(ToolError::failed("the job failed"))
}

/// Deletes a file after the user confirmed it.
#[tool(long_running)]
async fn confirm_delete(
    caller: &Caller,
    /// Name of the file.
    filename: String,
) -> Result<String, ToolError> {
    let schema = json!({ "type": "object", "properties": { "confirm": { "type": "boolean" } } });
    let message = format!("Delete {filename}?");
    match caller.require_elicitation()?.form("confirm", &message, schema).await? {
        Answer::Accepted(form) if form.get("confirm") == Some(&Value::Bool(true)) => {
            Ok(format!("{filename} is deleted"))
        }
        _ => Ok(format!("{filename} is kept")),
    }
}

/// Asks the user two questions at once.
#[tool(long_running)]
async fn multi_input(caller: &Caller) -> Result<String, ToolError> {
    let user = caller.require_elicitation()?;
    let schema = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    let (first, second) = tokio::try_join!(
        user.form("first", "The first value?", schema("first")),
        user.form("second", "The second value?", schema("second")),
    )?;
    Ok(format!("{first:?} and {second:?}"))
}

/// Asks for a name, and greets after some time.
#[tool(long_running)]
async fn test_tool_with_task(caller: &Caller) -> Result<String, ToolError> {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    match caller.require_elicitation()?.form("user_name", "What is your name?", schema).await? {
        Answer::Accepted(form) => {
            sleep(JOB).await;
            Ok(format!("Hello, {}!", form.get("name").and_then(Value::as_str).unwrap_or("World")))
        }
        _ => Ok("Hello!".to_owned()),
    }
}
