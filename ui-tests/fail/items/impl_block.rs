use tool_runtime::tool;

struct Files;

#[tool]
impl Files {
    /// Reads.
    #[tool]
    fn read(&self) {}
}

fn main() {
    Files.read();
}
