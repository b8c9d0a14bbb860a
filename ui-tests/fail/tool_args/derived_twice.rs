use tool_runtime::{serde::Deserialize, tool, tool_args};

#[tool_args]
#[derive(Debug, Deserialize)]
struct Arguments {
    text: String,
}

/// Takes them.
#[tool]
fn take(#[args] arguments: Arguments) -> String {
    format!("{arguments:?}")
}

fn main() {
    take(Arguments { text: String::new() });
}
