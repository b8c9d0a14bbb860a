//! The result of `ToolBuilder::body` without `?`.

use tool_runtime::prelude::*;

#[tool_args]
struct Add {
    a: i64,
}

fn main() {
    let add = ToolBuilder::new("add").body(tool_body!(|args: Add| args.a));
    let _ = Registry::builder().add(add).build();
}
