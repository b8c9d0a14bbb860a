#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[schemars(range(min = 1))] a: String) {}

fn main() {
    f(String::new());
}
