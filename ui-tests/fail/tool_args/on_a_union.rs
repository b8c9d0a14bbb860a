use tool_runtime::tool_args;

#[tool_args]
union U {
    a: u8,
}

fn main() {}
