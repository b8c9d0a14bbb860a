use tool_runtime::{Registry, tool};

/// Adds.
#[tool(handle = none)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn other() {}

fn main() {
    add(1, 2);
    other();
    let _ = Registry::builder().tool::<add>();
}
