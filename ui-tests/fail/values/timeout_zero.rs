use tool_runtime::tool;

/// Does.
#[tool(timeout = "0s")]
fn f() {}

fn main() {
    f();
}
