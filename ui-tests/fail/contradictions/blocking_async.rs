use tool_runtime::tool;

/// Does.
#[tool(blocking)]
async fn f() {}

fn main() {
    let _ = f();
}
