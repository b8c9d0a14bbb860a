#![allow(unused_variables)]

use tool_runtime::tool;

struct Units;

/// Does.
#[tool]
fn f(units: Vec<Units>) {}

fn main() {
    f(Vec::new());
}
