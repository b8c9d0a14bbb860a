//! `#[tool]` on methods of an `impl` block without `#[toolset]`.

use tool_runtime::prelude::*;

struct English;

impl English {
    /// Says hello.
    #[tool]
    fn greet(&self, name: String) -> String {
        format!("Hello, {name}!")
    }

    /// Learns the language.
    #[tool]
    fn learn(hours: u8) -> Option<Self> {
        (hours > 100).then_some(Self)
    }
}

fn main() {
    English.greet("you".to_owned());
    English::learn(1);
}
