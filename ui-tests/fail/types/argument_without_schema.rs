#![allow(unused_variables)]

use tool_runtime::{serde, tool};

#[derive(serde::Deserialize)]
#[serde(crate = "tool_runtime::serde")]
struct Units;

/// Does.
#[tool]
fn f(units: Units) {}

fn main() {
    f(Units);
}
