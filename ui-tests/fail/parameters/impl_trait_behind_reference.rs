#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(a: &impl Send) {}

fn main() {
    f(&1);
}
