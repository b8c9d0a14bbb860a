//! B02: the message points at the literal.
use tool_runtime::tool;

/// Does.
#[tool(name = "a b")]
fn f() {}

fn main() {
    f();
}
