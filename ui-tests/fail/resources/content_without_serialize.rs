use tool_kit::resource;

struct Notes(&'static str);

/// The notes of today.
#[resource(uri = "notes://today")]
fn today() -> Notes {
    Notes("")
}

fn main() {
    let _ = today().0;
}
