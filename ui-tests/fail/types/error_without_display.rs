use tool_runtime::tool;

struct Failure;

/// Does.
#[tool]
fn f() -> Result<u8, Failure> {
    Err(Failure)
}

fn main() {
    let _ = f();
}
