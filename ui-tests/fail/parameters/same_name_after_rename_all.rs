#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool(rename_all = "camelCase")]
fn f(a_b: u8, #[serde(rename = "aB")] c: u8) {}

fn main() {
    f(1, 2);
}
