use tool_kit::prompt;

/// Greets.
#[prompt]
fn greet(name: String) {
    drop(name);
}

fn main() {
    greet(String::new());
}
