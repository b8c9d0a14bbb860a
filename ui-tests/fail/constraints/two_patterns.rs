#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[schemars(regex(pattern = "a"), contains("b"))] a: String) {}

fn main() {
    f(String::new());
}
