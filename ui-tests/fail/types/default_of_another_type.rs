#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[arg(default = 3.5)] a: u8) {}

fn main() {
    f(1);
}
