//! A call in a `main` without a runtime.

use tool_runtime::prelude::*;

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let tools = Registry::builder().tool::<add>().build().unwrap();
    let sum = tools.call("add", r#"{"a":1,"b":2}"#).unwrap();
    println!("{}", sum.text());
}
