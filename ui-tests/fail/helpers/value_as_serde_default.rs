#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[serde(default = "3 + 4")] a: u8) {}

fn main() {
    f(1);
}
