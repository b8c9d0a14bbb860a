use tool_runtime::toolset;

struct Set;

#[toolset]
impl Set {
    /// Adds.
    #[tool(register = false)]
    fn add(&self) {}
}

fn main() {
    Set.add();
}
