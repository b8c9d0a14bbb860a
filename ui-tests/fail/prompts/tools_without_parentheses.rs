use tool_kit::prompt;

/// Greets.
#[prompt(tools = "search")]
fn greet(name: String) -> String {
    name
}

fn main() {
    greet(String::new());
}
