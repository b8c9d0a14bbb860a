use tool_runtime::tool;

/// Does.
#[tool(timeout = "2 days")]
fn f() {}

fn main() {
    f();
}
