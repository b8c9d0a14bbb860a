use tool_runtime::tool;

const TEXT: &str = "";

#[tool(description = TEXT)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    add(1, 2);
}
