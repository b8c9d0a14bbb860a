//! `?` on an error of another crate, in a tool that returns a `ToolError`.

use tool_runtime::prelude::*;

#[derive(Debug)]
struct OutOfPaper;

fn print() -> Result<(), OutOfPaper> {
    Err(OutOfPaper)
}

/// Prints a receipt.
#[tool]
fn receipt() -> Result<String, ToolError> {
    print()?;
    Ok("printed".to_owned())
}

fn main() {
    let _ = receipt();
}
