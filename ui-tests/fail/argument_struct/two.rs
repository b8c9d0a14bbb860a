use tool_runtime::{tool, tool_args};

#[tool_args]
struct Arguments {
    a: u8,
}

/// Does.
#[tool]
fn f(#[args] first: Arguments, Arguments { a }: Arguments) -> u8 {
    first.a + a
}

fn main() {
    f(Arguments { a: 1 }, Arguments { a: 2 });
}
