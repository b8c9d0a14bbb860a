#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[arg(default = "x")] a: i64) {}

fn main() {
    let _ = f;
}
