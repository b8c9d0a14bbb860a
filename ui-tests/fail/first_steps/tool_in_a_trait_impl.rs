//! `#[tool]` on a method of `impl Trait for Type`.

use tool_runtime::prelude::*;

trait Greet {
    fn greet(&self, name: String) -> String;
}

struct English;

impl Greet for English {
    /// Says hello.
    #[tool]
    fn greet(&self, name: String) -> String {
        format!("Hello, {name}!")
    }
}

fn main() {}
