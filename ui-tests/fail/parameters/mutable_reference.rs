#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(a: &mut Vec<u8>) {}

fn main() {
    f(&mut Vec::new());
}
