use tool_kit::resource;

/// The notes of a day.
#[resource(uri = "notes://all{?day}")]
fn notes(day: String) -> String {
    day
}

fn main() {
    notes(String::new());
}
