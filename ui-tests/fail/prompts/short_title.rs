use tool_kit::prompt;

/// Greets.
#[prompt(title = "Greet")]
fn greet(name: String) -> String {
    name
}

fn main() {
    greet(String::new());
}
