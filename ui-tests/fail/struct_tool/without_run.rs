use tool_runtime::tool;

/// Searches.
#[tool]
struct Search {
    text: String,
}

fn main() {
    let _ = Search { text: String::new() }.text;
}
