use tool_kit::resource;

/// A version of a file.
#[resource(uri = "files:///{+path}/{version}")]
fn file(path: &str, version: u32) -> String {
    format!("{path} {version}")
}

fn main() {
    file("a", 1);
}
