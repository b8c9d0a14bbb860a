use tool_runtime::tool;

/// Does.
#[tool(instantiate(Vec<u8> as "f_bytes"))]
fn f<T: Copy>(a: T) -> T {
    a
}

fn main() {
    f(1);
}
