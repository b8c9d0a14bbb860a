use tool_runtime::tool;

/// Does.
#[tool(merge)]
fn f() {}

fn main() {
    f();
}
