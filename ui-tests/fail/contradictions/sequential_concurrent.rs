use tool_runtime::tool;

/// Does.
#[tool(sequential, concurrency_safe)]
fn f() {}

fn main() {
    f();
}
