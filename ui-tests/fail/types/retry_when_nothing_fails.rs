use tool_runtime::tool;

fn is_busy(_: &String) -> bool {
    true
}

/// Does.
#[tool(retry(when = is_busy))]
fn f(a: u8) -> u8 {
    a
}

fn main() {
    f(1);
    is_busy(&String::new());
}
