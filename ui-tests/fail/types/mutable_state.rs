#![allow(unused_variables)]

use tool_runtime::{State, tool};

/// Does.
#[tool]
fn f(state: &mut State) {}

fn main() {
    let _ = f;
}
