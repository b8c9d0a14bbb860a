#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool(rename_all = "camel")]
fn f(a_b: u8) {}

fn main() {
    f(1);
}
