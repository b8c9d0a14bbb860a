//! tRPC-Agent-Go: a tool that reads the id of its call, and a call that succeeds at the second attempt.

use tool_runtime::{Executor, ToolCall, prelude::*};

/// Stores a note, and tags it with the id of the call.
#[tool]
fn store(note: &str, cx: &ToolContext) -> String {
    format!("{note} #{}", cx.call_id())
}

/// Looks up the weather at a station that fails at the first attempt.
#[tool(read_only, retry(initial = "1ms"))]
fn look_up(cx: &ToolContext) -> Result<&'static str, ToolError> {
    match cx.attempt() {
        1 => {
            println!("attempt 1 failed");
            Err(ToolError::failed("the station does not respond").retryable(true))
        }
        attempt => {
            println!("attempt {attempt} succeeded");
            Ok("rain")
        }
    }
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let executor = Executor::new(Registry::builder().tool::<store>().tool::<look_up>().build()?);
    let calls = vec![
        ToolCall::new("store", json!({ "note": "milk" })).with_id("call_1"),
        ToolCall::new("store", json!({ "note": "milk" })).with_id("call_2"),
        ToolCall::new("look_up", json!({})).with_id("call_3"),
    ];
    for outcome in executor.run(calls).await {
        println!(
            "{}: {}",
            outcome.id(),
            outcome.result().map(|it| it.text().into_owned()).unwrap_or_default()
        );
    }
    Ok(())
}
