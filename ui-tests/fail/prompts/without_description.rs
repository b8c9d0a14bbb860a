use tool_kit::prompt;

#[prompt]
fn greet(name: String) -> String {
    name
}

fn main() {
    greet(String::new());
}
