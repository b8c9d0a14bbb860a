//! tRPC-Agent-Go: a `calculator` tool that returns an error for an unsupported operation.

use tool_runtime::prelude::*;

/// Calculates.
#[tool]
fn calculator(operation: &str, a: f64, b: f64) -> Result<f64, String> {
    match operation {
        "add" => Ok(a + b),
        "multiply" => Ok(a * b),
        other => Err(format!("unsupported operation: {other}")),
    }
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let tools = Registry::builder().tool::<calculator>().build()?;
    let product = tools.call("calculator", json!({ "operation": "multiply", "a": 25, "b": 4 })).await?;
    println!("{}", product.text());
    Ok(())
}
