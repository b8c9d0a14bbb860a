//! B17.
use tool_runtime::tool_args;

#[tool_args]
struct Arguments {
    #[schemars(regex(pattern = "a"))]
    a: u8,
}

fn main() {
    let _ = Arguments { a: 1 }.a;
}
