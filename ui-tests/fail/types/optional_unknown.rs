#![allow(unused_variables)]

use tool_runtime::tool;

struct Units;

/// Does.
#[tool]
fn f(units: Option<Units>) {}

fn main() {
    f(None);
}
