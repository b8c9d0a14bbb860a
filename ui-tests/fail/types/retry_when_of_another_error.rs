use tool_runtime::tool;

fn is_busy(error: &String) -> bool {
    error == "busy"
}

/// Does.
#[tool(retry(attempts = 3, when = is_busy))]
fn f(a: u8) -> Result<u8, std::fmt::Error> {
    Ok(a)
}

fn main() {
    let _ = f(1);
    is_busy(&String::new());
}
