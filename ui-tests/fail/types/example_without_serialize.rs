use tool_runtime::tool;

struct Units;

/// Does.
#[tool(examples(Units))]
fn f() {}

fn main() {
    f();
    let _ = Units;
}
