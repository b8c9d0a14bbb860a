use tool_runtime::{Registry, toolset};

struct Set<'a> {
    name: &'a str,
}

#[toolset]
impl Set<'_> {
    /// Names.
    #[tool]
    fn name(&self) -> String {
        self.name.to_owned()
    }
}

fn main() {
    let name = String::from("local");
    let _ = Registry::builder().toolset(Set { name: &name });
}
