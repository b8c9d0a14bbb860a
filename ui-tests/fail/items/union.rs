use tool_runtime::tool;

/// Does.
#[tool]
union U {
    a: u8,
}

fn main() {}
