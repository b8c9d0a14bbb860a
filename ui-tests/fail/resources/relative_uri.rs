use tool_kit::resource;

/// The notes of today.
#[resource(uri = "notes/today")]
fn today() -> String {
    String::new()
}

fn main() {
    today();
}
