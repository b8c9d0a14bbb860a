use tool_kit::prompt;

/// Greets.
#[prompt(read_only)]
fn greet(name: String) -> String {
    name
}

fn main() {
    greet(String::new());
}
