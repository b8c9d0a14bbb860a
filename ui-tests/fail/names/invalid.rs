//! B02: the message stands at the literal.
use tool_runtime::tool;

/// Does.
#[tool(name = "a b")]
fn f() {}

fn main() {
    f();
}
