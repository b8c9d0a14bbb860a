use tool_runtime::toolset;

struct Set;

#[toolset]
impl Set {
    /// Adds.
    #[tool(crate = tool_runtime)]
    fn add(&self) {}
}

fn main() {
    Set.add();
}
