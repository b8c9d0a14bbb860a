#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[schemars(required)] #[arg(default)] a: Option<u8>) {}

fn main() {
    f(None);
}
