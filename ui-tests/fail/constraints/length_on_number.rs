#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[schemars(length(min = 1))] a: u8) {}

fn main() {
    f(1);
}
