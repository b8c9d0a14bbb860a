use tool_runtime::toolset;

struct Set;

#[toolset]
impl Set {
    /// Adds.
    #[tool]
    fn add<T: Default>(&self, a: T) -> T {
        a
    }
}

fn main() {
    Set.add(1);
}
