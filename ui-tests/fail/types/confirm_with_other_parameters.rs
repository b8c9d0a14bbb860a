#![allow(unused_variables)]

use tool_runtime::tool;

fn asks(name: &str) -> bool {
    name.is_empty()
}

/// Does.
#[tool(confirm = asks)]
fn f(a: u8) {}

fn main() {
    f(1);
    asks("");
}
