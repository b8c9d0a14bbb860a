#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[schemars(length(equal = 3, min = 1))] a: String) {}

fn main() {
    f(String::new());
}
