use tool_runtime::tool;

/// Does.
#[tool(max_result_size = "1 MB")]
fn f() {}

fn main() {
    f();
}
