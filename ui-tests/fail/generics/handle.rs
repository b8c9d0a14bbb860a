#![allow(unused_variables)]

use tool_runtime::tool;

/// Does.
#[tool(handle = F, instantiate(u8 as "f_byte"))]
fn f<T>(a: T) {}

fn main() {
    f(1);
}
