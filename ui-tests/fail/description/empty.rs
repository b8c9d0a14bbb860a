use tool_runtime::tool;

#[tool(description = "")]
fn f() {}

fn main() {
    f();
}
