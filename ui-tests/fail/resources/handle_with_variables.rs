use tool_kit::{function::FunctionResource, resource};
use tool_runtime::Registry;

/// The notes of a day.
#[resource(uri = "notes://{day}")]
fn notes(day: String) -> String {
    day
}

fn main() {
    let _ = FunctionResource::of::<notes>(&Registry::default());
}
