use tool_runtime::tool;

/// Does.
#[tool]
async fn f() -> u8 {
    let shared = std::rc::Rc::new(1);
    std::future::ready(()).await;
    *shared
}

fn main() {
    let _ = f();
}
