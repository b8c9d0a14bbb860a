use tool_kit::resource;

/// The notes of a day.
#[resource(uri = "notes://{month}-{day}")]
fn notes(month: String, day: String) -> String {
    month + &day
}

fn main() {
    notes(String::new(), String::new());
}
