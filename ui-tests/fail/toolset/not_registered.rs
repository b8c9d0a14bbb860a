use tool_runtime::Registry;

struct Set;

impl Set {
    fn add(&self) {}
}

fn main() {
    Set.add();
    let _ = Registry::builder().toolset(Set);
}
