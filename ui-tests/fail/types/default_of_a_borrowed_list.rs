use tool_runtime::tool;

/// Does.
#[tool]
fn f(#[arg(default = vec![1])] list: &[u8]) -> usize {
    list.len()
}

fn main() {
    f(&[]);
}
