#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[arg(default = "yes")] a: bool) {}

fn main() {
    let _ = f;
}
