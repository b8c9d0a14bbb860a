#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(_: u8) {}

fn main() {
    f(1);
}
