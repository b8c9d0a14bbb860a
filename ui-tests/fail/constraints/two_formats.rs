#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[schemars(email, url)] a: String) {}

fn main() {
    f(String::new());
}
