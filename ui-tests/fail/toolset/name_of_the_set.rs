use tool_runtime::toolset;

struct Set;

#[toolset]
impl Set {
    /// Adds.
    #[tool(toolset = "x")]
    fn add(&self) {}
}

fn main() {
    Set.add();
}
