use tool_kit::prompt;

struct Missing;

/// Greets.
#[prompt]
fn greet(name: String) -> Result<String, Missing> {
    if name.is_empty() { Err(Missing) } else { Ok(name) }
}

fn main() {
    let _ = greet(String::new());
}
