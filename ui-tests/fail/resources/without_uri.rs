use tool_kit::resource;

/// The notes of today.
#[resource]
fn today() -> String {
    String::new()
}

fn main() {
    today();
}
