#![allow(unused_variables)]

use tool_runtime::{ToolContext, tool};

/// Does.
#[tool]
fn f(cx: Option<&ToolContext>) {}

fn main() {
    f(None);
}
