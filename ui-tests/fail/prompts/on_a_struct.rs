use tool_kit::prompt;

/// Greets.
#[prompt(name = "greet")]
struct Greeting {
    name: String,
}

fn main() {
    let _ = Greeting { name: String::new() };
}
