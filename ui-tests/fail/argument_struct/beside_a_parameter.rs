use tool_runtime::{tool, tool_args};

#[tool_args]
struct Arguments {
    a: u8,
}

/// Does.
#[tool]
fn f(Arguments { a }: Arguments, limit: u8) -> u8 {
    a + limit
}

fn main() {
    f(Arguments { a: 1 }, 2);
}
