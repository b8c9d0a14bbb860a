use tool_runtime::toolset;

struct Set;

#[toolset]
impl Set {
    /// Adds.
    #[tool]
    fn add(&mut self) {}
}

fn main() {
    Set.add();
}
