#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[arg(default = "x")] a: Option<String>) {}

fn main() {
    let _ = f;
}
