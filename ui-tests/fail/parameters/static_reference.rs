#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(a: &'static str) {}

fn main() {
    f("");
}
