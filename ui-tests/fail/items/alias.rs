use tool_runtime::tool;

/// Does.
#[tool]
type A = u8;

fn main() {}
