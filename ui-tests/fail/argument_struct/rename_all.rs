use tool_runtime::{tool, tool_args};

#[tool_args]
struct Arguments {
    a: u8,
}

/// Does.
#[tool(rename_all = "camelCase")]
fn f(#[args] arguments: Arguments) -> u8 {
    arguments.a
}

fn main() {
    f(Arguments { a: 1 });
}
