use tool_runtime::tool;

/// Does.
#[tool(name = "2add")]
fn f() {}

fn main() {
    f();
}
