use tool_runtime::toolset;

struct Set;

#[toolset]
impl Set {
    /// Adds.
    #[tool]
    const ADD: u8 = 3;
}

fn main() {
    let _ = Set::ADD;
}
