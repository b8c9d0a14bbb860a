use tool_runtime::tool;

/// Does.
#[tool]
macro_rules! m {
    () => {};
}

fn main() {
    m!();
}
