use tool_kit::prompt;

/// Greets.
#[prompt]
fn greet(#[arg(secret)] name: String) -> String {
    name
}

fn main() {
    greet(String::new());
}
