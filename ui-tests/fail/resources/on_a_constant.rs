use tool_kit::resource;

/// The notes of today.
#[resource(uri = "notes://today")]
const TODAY: &str = "";

fn main() {
    let _ = TODAY;
}
