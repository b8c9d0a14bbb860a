#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[schemars(range(min = 3, max = 1))] a: u8) {}

fn main() {
    f(1);
}
