use tool_kit::resource;

/// The notes of today.
#[resource(uri = "notes://today", mime_type = "markdown")]
fn today() -> String {
    String::new()
}

fn main() {
    today();
}
