use tool_runtime::{tool, tool_args};

#[tool_args]
struct Arguments {
    #[arg(default = 3)]
    limit: u8,
    #[arg(secret, example = "k")]
    token: String,
    #[arg(range(max = 9), rename = "n", defualt)]
    count: u8,
    #[arg]
    rest: u8,
}

/// Takes them.
#[tool]
fn take(#[args] arguments: Arguments) -> u8 {
    arguments.limit + arguments.count + arguments.rest + arguments.token.len() as u8
}

fn main() {
    take(Arguments { limit: 1, token: String::new(), count: 1, rest: 1 });
}
