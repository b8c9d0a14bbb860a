#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[cfg(unix)] a: u8) {}

fn main() {
    f(1);
}
