#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(cell: &std::cell::Cell<u8>) {}

fn main() {
    f(&1.into());
}
