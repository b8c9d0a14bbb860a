use tool_kit::prompt;

#[prompt(name = "say hello", title = "Hello")]
fn greet(#[schemars(range(min = 3, max = 1))] times: u8, names: &mut Vec<String>) -> String {
    format!("{times} {names:?}")
}

fn main() {
    greet(1, &mut Vec::new());
}
