#![allow(unused_variables)]

use tool_runtime::{ToolContext, tool};

/// Does.
#[tool]
fn f(cx: ToolContext) {}

fn main() {
    let _ = f;
}
