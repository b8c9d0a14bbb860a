use tool_runtime::tool;

/// Does.
#[tool]
fn f() -> ! {
    panic!()
}

fn main() {
    f();
}
