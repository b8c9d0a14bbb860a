use tool_kit::prompt;

const LIMIT: u32 = 3;

/// Greets.
#[prompt(system_prompt = LIMIT)]
fn greet(name: String) -> String {
    name
}

fn main() {
    greet(String::new());
}
