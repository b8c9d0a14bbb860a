use tool_runtime::tool;

trait Reads {
    /// Reads.
    #[tool]
    fn read(&self) {}
}

fn main() {}
