use tool_runtime::tool;

/// Does.
#[tool(retry(attempts = 3, multiplier = 0.5))]
fn f() {}

fn main() {
    f();
}
