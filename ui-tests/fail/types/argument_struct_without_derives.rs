use tool_runtime::tool;

struct Arguments {
    a: u8,
}

/// Does.
#[tool]
fn f(Arguments { a }: Arguments) -> u8 {
    a
}

fn main() {
    f(Arguments { a: 1 });
}
