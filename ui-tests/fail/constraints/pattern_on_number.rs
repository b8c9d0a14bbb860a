//! B17.
#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[schemars(regex(pattern = "a"))] a: u8) {}

fn main() {
    f(1);
}
