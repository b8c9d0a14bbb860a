//! The context of a call, taken by value.

use tool_runtime::prelude::*;

/// Says the id of the call.
#[tool]
fn id(cx: ToolContext) -> String {
    cx.call_id().to_string()
}

fn main() {}
