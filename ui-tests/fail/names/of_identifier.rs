use tool_runtime::tool;

/// Does.
#[tool]
fn größe() -> u8 {
    1
}

fn main() {
    größe();
}
