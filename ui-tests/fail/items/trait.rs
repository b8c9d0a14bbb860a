use tool_runtime::tool;

/// Does.
#[tool]
trait T {}

fn main() {}
