use tool_runtime::tool;

struct Units;

/// Does.
#[tool]
fn f() -> Units {
    Units
}

fn main() {
    f();
}
