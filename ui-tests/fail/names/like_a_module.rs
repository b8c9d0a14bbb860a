//! Rust's own words: the type of a tool has the tool's name; `handle = Name` gives it another.
use tool_runtime::tool;

mod search {}

/// Searches.
#[tool]
fn search(text: String) -> String {
    text
}

fn main() {
    search(String::new());
}
