#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[schemars(rename = "x")] a: u8) {}

fn main() {
    f(1);
}
