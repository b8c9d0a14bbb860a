#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(a: u8, #[serde(rename = "a")] b: u8) {}

fn main() {
    f(1, 2);
}
