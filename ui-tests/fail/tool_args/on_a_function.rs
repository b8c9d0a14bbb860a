use tool_runtime::tool_args;

#[tool_args]
fn add(a: u8) -> u8 {
    a
}

fn main() {
    add(1);
}
