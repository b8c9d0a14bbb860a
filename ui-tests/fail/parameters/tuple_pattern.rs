//! B10.
use tool_runtime::tool;

/// Does.
#[tool]
fn f((a, b): (u8, u8)) -> u8 {
    a + b
}

fn main() {
    f((1, 2));
}
