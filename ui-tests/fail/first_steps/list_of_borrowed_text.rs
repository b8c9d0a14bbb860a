//! Lists of `&str` as parameters: an argument owns its strings.

use tool_runtime::prelude::*;

/// Joins words.
#[tool]
fn join(words: Vec<&str>) -> String {
    words.join(" ")
}

/// Joins words.
#[tool]
fn join_slice(words: &[&str]) -> String {
    words.join(" ")
}

fn main() {}
