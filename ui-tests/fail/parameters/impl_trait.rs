//! B10.
#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(a: impl Iterator<Item = u8>) {}

fn main() {
    f(std::iter::empty());
}
