use tool_kit::prompt;

/// Counts.
#[prompt]
fn count(text: String) -> usize {
    text.len()
}

fn main() {
    count(String::new());
}
