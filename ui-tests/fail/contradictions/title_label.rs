use tool_runtime::tool;

/// Does.
#[tool(title = "A", label = "B")]
fn f() {}

fn main() {
    f();
}
