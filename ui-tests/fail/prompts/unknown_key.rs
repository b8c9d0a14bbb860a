use tool_kit::prompt;

/// Greets.
#[prompt(modle = "gpt-5")]
fn greet(name: String) -> String {
    name
}

fn main() {
    greet(String::new());
}
