use tool_runtime::tool;

/// Does.
#[tool]
unsafe fn f() {}

fn main() {
    unsafe { f() };
}
