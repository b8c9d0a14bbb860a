use tool_kit::resource;
use tool_runtime::tool_args;

#[tool_args]
struct Date {
    day: String,
}

/// The notes of a day.
#[resource(uri = "notes://{day}")]
fn notes(Date { day }: Date) -> String {
    day
}

fn main() {
    notes(Date { day: String::new() });
}
