use tool_runtime::tool;

struct Units;

/// Does.
#[tool]
async fn f() -> Result<Vec<Units>, String> {
    Ok(vec![Units])
}

fn main() {
    let _ = f();
}
