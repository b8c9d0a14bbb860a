//! `#[tool]` on a function without `self` in `impl Trait for Type`.

use tool_runtime::prelude::*;

trait Named {
    fn named(name: String) -> Self;
}

struct English(String);

impl Named for English {
    /// Names a speaker.
    #[tool]
    fn named(name: String) -> Self {
        Self(name)
    }
}

fn main() {
    let _ = English::named("you".to_owned()).0;
}
