//! The function of `confirm` looks at the arguments, so it borrows them.

use tool_runtime::prelude::*;

fn check(path: String) -> bool {
    path.starts_with('/')
}

/// Deletes a file.
#[tool(destructive, confirm = check)]
fn delete(path: String) -> String {
    path
}

fn main() {}
