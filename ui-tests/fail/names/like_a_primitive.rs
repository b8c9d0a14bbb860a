use tool_runtime::tool;

/// Does.
#[tool]
fn u8() {}

fn main() {
    u8();
}
