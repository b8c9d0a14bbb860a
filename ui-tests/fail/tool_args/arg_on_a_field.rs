use tool_runtime::{tool, tool_args};

#[tool_args]
struct Arguments {
    #[arg(default = 3)]
    limit: u8,
}

/// Takes them.
#[tool]
fn take(#[args] arguments: Arguments) -> u8 {
    arguments.limit
}

fn main() {
    take(Arguments { limit: 1 });
}
