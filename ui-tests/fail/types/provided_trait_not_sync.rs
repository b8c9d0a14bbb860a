#![allow(unused_variables)]

use tool_runtime::tool;

trait Store {}

/// Does.
#[tool]
fn f(store: &dyn Store) {}

fn main() {
    let _ = f;
}
