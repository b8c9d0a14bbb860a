//! A misspelt key of a constraint; the other mistake of the tool is reported as well.

use tool_runtime::prelude::*;

/// Takes some.
#[tool(tittle = "Take")]
fn take(
    #[arg(range(min = 1))] count: u8,
    #[schemars(lenght(min = 1), range(mn = 1, mix = 9))] name: String,
    (a, b): (u8, u8),
) -> String {
    let _ = (count, a, b);
    name
}

fn main() {}
