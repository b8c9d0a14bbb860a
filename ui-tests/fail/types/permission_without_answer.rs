#![allow(unused_variables)]

use tool_runtime::tool;

fn may(_: &u8) -> bool {
    true
}

/// Does.
#[tool(permission = may)]
fn f(a: u8) {}

fn main() {
    f(1);
    may(&1);
}
