//! A `pub` tool whose types are private: no item of an expansion names them.

#![deny(warnings)]

use tool_runtime::{tool, tool_args};

#[tool_args]
struct Arguments {
    text: String,
}

#[tool_args(serialize)]
#[derive(Clone)]
struct Answer(String);

struct Db;

/// Answers.
#[tool]
#[allow(private_interfaces)]
pub fn ask(db: &Db, #[args] arguments: Arguments) -> Answer {
    let _ = db;
    Answer(arguments.text)
}

/// Answers by value.
#[tool]
#[allow(private_interfaces)]
pub async fn ask_again(first: Answer, #[arg(default = Answer(String::new()))] second: Answer) -> Answer {
    if first.0.is_empty() { second } else { first }
}

fn main() {
    let _ = ask(&Db, Arguments { text: String::new() });
}
