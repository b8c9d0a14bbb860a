use tool_runtime::tool;

/// Does.
#[tool(read_only, destructive)]
fn f() {}

fn main() {
    f();
}
