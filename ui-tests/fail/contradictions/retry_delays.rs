use tool_runtime::tool;

/// Does.
#[tool(retry(attempts = 3, initial = "1m", max = "1s"))]
fn f() {}

fn main() {
    f();
}
