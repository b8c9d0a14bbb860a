#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[arg(default = 3)] a: String) {}

fn main() {
    let _ = f;
}
