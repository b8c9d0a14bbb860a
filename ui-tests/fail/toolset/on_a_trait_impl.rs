use tool_runtime::toolset;

struct Set;

trait Adds {
    fn add(&self);
}

#[toolset]
impl Adds for Set {
    /// Adds.
    #[tool]
    fn add(&self) {}
}

fn main() {
    Set.add();
}
