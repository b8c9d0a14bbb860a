use tool_runtime::tool;

/// Does.
#[tool]
mod m {}

fn main() {}
