use tool_kit::resource;

/// The last notes.
#[resource(uri = "notes://last")]
fn notes(count: u32) -> String {
    count.to_string()
}

fn main() {
    notes(1);
}
