use tool_runtime::toolset;

struct Set;

#[toolset]
impl Set {
    /// Adds.
    #[tool]
    fn add(&self) {}

    /// Adds, too.
    #[tool(name = "add")]
    fn plus(&self) {}
}

fn main() {
    Set.add();
    Set.plus();
}
