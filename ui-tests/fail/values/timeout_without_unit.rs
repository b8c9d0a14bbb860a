use tool_runtime::tool;

/// Does.
#[tool(timeout = 30)]
fn f() {}

fn main() {
    f();
}
