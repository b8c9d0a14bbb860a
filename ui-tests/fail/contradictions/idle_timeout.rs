use tool_runtime::tool;

/// Does.
#[tool(timeout = "1s", idle_timeout = "1m")]
fn f() {}

fn main() {
    f();
}
