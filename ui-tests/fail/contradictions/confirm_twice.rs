use tool_runtime::tool;

fn asks() -> bool {
    true
}

/// Does.
#[tool(confirm = asks, confirm)]
fn f() {}

fn main() {
    f();
    asks();
}
