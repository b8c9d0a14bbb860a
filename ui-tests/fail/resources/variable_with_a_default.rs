use tool_kit::resource;

/// The notes of a day.
#[resource(uri = "notes://{day}")]
fn notes(#[arg(default = "today")] day: String) -> String {
    day
}

fn main() {
    notes(String::new());
}
