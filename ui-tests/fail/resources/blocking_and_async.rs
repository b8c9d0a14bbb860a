use tool_kit::resource;

/// The notes of today.
#[resource(uri = "notes://today", blocking)]
async fn today() -> String {
    String::new()
}

fn main() {
    drop(today());
}
