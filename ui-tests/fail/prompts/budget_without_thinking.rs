use tool_kit::prompt;

/// Greets.
#[prompt(thinking = "off", thinking_budget = 1024)]
fn greet(name: String) -> String {
    name
}

fn main() {
    greet(String::new());
}
