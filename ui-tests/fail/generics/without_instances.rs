//! B10.
#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f<T: Default>(a: T) {}

fn main() {
    f(1);
}
