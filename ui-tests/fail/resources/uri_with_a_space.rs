use tool_kit::resource;

/// The notes of today.
#[resource(uri = "notes://to day")]
fn today() -> String {
    String::new()
}

fn main() {
    today();
}
