//! A name conflict in the type namespace: the handle of a tool has the tool's name; `handle = Name` sets another.
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
