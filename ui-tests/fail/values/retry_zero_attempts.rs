use tool_runtime::tool;

/// Does.
#[tool(retry(attempts = 0))]
fn f() {}

fn main() {
    f();
}
