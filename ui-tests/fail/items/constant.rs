use tool_runtime::tool;

/// Does.
#[tool]
const C: u8 = 3;

fn main() {}
