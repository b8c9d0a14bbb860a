use tool_kit::resource;

/// The notes of a day.
#[resource(uri = "notes://{date}")]
fn notes(date: &str, day: &str) -> String {
    format!("{date} {day}")
}

fn main() {
    notes("", "");
}
