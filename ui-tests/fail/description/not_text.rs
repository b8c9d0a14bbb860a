use tool_runtime::tool;

#[tool(description = 3)]
fn f() {}

fn main() {
    f();
}
