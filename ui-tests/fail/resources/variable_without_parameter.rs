use tool_kit::resource;

/// The notes of a day.
#[resource(uri = "notes://{day}")]
fn notes() -> String {
    String::new()
}

fn main() {
    notes();
}
