//! All mistakes of one item are reported at once, each at its place (B10).
use tool_runtime::tool;

#[tool(name = "a b", read_onyl, read_only, destructive, timeout = "soon")]
fn f(first: &mut u8, (a, b): (u8, u8), #[serde(flatten)] c: u8) -> u8 {
    *first + a + b + c
}

fn main() {
    f(&mut 1, (2, 3), 4);
}
