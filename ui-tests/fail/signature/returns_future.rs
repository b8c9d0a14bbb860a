use tool_runtime::tool;

/// Does.
#[tool]
fn f() -> impl Future<Output = u8> {
    std::future::ready(1)
}

fn main() {
    let _ = f();
}
