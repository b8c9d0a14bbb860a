#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool(instantiate(u8 as "f", u16 as "f"))]
fn f<T>(a: T) {}

fn main() {
    f(1);
}
