#![allow(unused_variables)]

use tool_runtime::tool;

trait Store: Send + Sync {}

/// Does.
#[tool]
fn f(#[arg(default = 3)] store: &dyn Store) {}

fn main() {
    let _ = f;
}
