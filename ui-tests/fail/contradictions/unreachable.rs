use tool_runtime::tool;

/// Does.
#[tool(register = false, handle = none)]
fn f() {}

fn main() {
    f();
}
