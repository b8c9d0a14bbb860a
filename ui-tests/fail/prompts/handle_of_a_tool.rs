use tool_kit::function::FunctionPrompt;
use tool_runtime::{Registry, tool};

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = FunctionPrompt::of::<add>(&Registry::default());
}
