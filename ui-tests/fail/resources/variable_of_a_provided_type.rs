use tool_kit::resource;

struct Day(&'static str);

/// The notes of a day.
#[resource(uri = "notes://{day}")]
fn notes(day: &Day) -> String {
    day.0.to_owned()
}

fn main() {
    notes(&Day("monday"));
}
