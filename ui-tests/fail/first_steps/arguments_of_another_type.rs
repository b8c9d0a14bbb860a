//! A struct as the arguments of a call.

use tool_runtime::prelude::*;

struct Add {
    a: i64,
}

async fn call(tools: Registry) -> Result<ToolOutput, ToolError> {
    tools.call("add", Add { a: 1 }).await
}

fn main() {
    let _ = (call, |add: Add| add.a);
    let _ = ToolCall::new("add", Add { a: 1 });
}
