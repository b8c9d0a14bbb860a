use tool_kit::prompt;
use tool_runtime::tool;

/// Greets.
#[tool]
#[prompt]
fn greet(name: String) -> String {
    name
}

fn main() {
    greet(String::new());
}
