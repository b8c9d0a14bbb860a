#![allow(unused_variables)]

use tool_runtime::{tool, tool_args};

#[tool_args]
struct Units {}

/// Does.
#[tool]
fn f(#[serde(default)] a: Units) {}

fn main() {
    f(Units {});
}
