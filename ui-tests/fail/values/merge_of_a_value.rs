//! `merge` on a function that returns a list.

use tool_runtime::prelude::*;

/// Lists the letters of a word.
#[tool(merge)]
fn letters(word: String) -> Vec<char> {
    word.chars().collect()
}

fn main() {
    letters(String::new());
}
