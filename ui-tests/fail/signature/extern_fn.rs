use tool_runtime::tool;

/// Does.
#[tool]
extern "C" fn f() {}

fn main() {
    f();
}
