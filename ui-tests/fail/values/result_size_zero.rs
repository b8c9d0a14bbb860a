use tool_runtime::tool;

/// Does.
#[tool(max_result_size = 0)]
fn f() {}

fn main() {
    f();
}
