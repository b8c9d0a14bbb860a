use tool_runtime::tool;

/// Does.
#[tool(input_schema = 3)]
fn f() {}

fn main() {
    f();
}
