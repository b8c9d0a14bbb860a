use tool_kit::prompt;

/// Greets.
#[prompt(thinking = "hard")]
fn greet(name: String) -> String {
    name
}

fn main() {
    greet(String::new());
}
