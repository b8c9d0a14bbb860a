use tool_runtime::tool;

/// Does.
#[tool(title = " ")]
fn f() {}

fn main() {
    f();
}
