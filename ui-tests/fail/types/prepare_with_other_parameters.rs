use tool_runtime::tool;

fn prepare(_: u8) {}

/// Does.
#[tool(prepare = prepare)]
fn f() {}

fn main() {
    f();
    prepare(1);
}
