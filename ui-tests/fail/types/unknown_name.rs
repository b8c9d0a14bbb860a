#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool(confirm = asks)]
fn f(a: u8) {}

fn main() {
    f(1);
}
