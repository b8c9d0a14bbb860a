use tool_runtime::tool;

///
#[tool]
fn f() {}

fn main() {
    f();
}
