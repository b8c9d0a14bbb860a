use tool_runtime::toolset;

struct Set;

#[toolset]
impl Set {
    /// Adds.
    #[tool(handle = Add)]
    fn add(&self) {}
}

fn main() {
    Set.add();
}
