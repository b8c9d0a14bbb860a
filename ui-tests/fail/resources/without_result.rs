use tool_kit::resource;

/// The notes of today.
#[resource(uri = "notes://today")]
fn today() {}

fn main() {
    today();
}
