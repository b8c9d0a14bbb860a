#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool(instantiate())]
fn f<T>(a: T) {}

fn main() {
    f(1);
}
