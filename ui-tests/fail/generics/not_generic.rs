use tool_runtime::tool;

/// Does.
#[tool(instantiate(u8 as "f_byte"))]
fn f() {}

fn main() {
    f();
}
