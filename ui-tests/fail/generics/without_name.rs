#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool(instantiate(u8, u16 as "f_short"))]
fn f<T>(a: T) {}

fn main() {
    f(1);
}
