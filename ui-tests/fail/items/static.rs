use tool_runtime::tool;

/// Does.
#[tool]
static S: u8 = 3;

fn main() {}
