use tool_runtime::toolset;

struct Set {
    count: std::cell::Cell<u8>,
}

#[toolset]
impl Set {
    /// Counts.
    #[tool]
    fn count(&self) -> u8 {
        self.count.get()
    }
}

fn main() {
    let _ = Set { count: 1.into() }.count();
}
