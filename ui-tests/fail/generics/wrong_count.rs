#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool(instantiate(u8 as "f_byte"))]
fn f<A, B>(a: A, b: B) {}

fn main() {
    f(1, 2);
}
