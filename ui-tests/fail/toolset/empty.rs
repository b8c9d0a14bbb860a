use tool_runtime::toolset;

struct Set;

#[toolset]
impl Set {
    fn add(&self) {}
}

fn main() {
    Set.add();
}
