use tool_runtime::tool;

fn text() -> &'static str {
    "Adds."
}

#[tool(description = text())]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    add(1, 2);
}
