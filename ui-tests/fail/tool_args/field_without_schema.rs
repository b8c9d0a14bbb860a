use tool_runtime::{serde, tool_args};

#[derive(serde::Deserialize)]
#[serde(crate = "tool_runtime::serde")]
struct Units;

#[tool_args]
struct Arguments {
    units: Units,
}

fn main() {
    let _ = Arguments { units: Units }.units;
}
