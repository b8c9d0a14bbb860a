//! `.tool(add)` in place of `.tool::<add>()`.

use tool_runtime::prelude::*;

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = Registry::builder().tool(add).build();
}
